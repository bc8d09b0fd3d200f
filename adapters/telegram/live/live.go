// Package live shows a turn in the chat while the turn runs: a typing action, a status
// message, and the text being written. Package live delivers what Claude says and
// changes before the answer, and holds each outcome back until the earlier texts are
// queued.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/feed"
	"bareclaw/core/progress"
	"bareclaw/internal/wait"
)

// Feeds has the updates of channels.
type Feeds interface {
	Subscribe(key core.ChannelKey) *feed.Subscription
	Resume(key core.ChannelKey, after string) *feed.Subscription
}

// Messages finds the messages of an adapter without an outcome.
type Messages interface {
	OpenMessages(ctx context.Context, adapter string) ([]core.Message, error)
}

// Channels tells about channels.
type Channels interface {
	Present(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error)
}

// Options hold what Views use. All are required.
type Options struct {
	Base     *base.Base
	Feeds    Feeds
	Messages Messages
	Channels Channels
	Out      *outbox.Outbox
	Sender   *outbox.Sender
	Progress progress.Options
}

// Views are the views of all conversations with an open message. Their methods are safe
// for concurrent use.
type Views struct {
	env      *base.Base
	feeds    Feeds
	messages Messages
	channels Channels
	sender   *outbox.Sender
	out      *outbox.Outbox
	progress progress.Options
	noDrafts atomic.Bool // the Bot API server does not support drafts

	mu    sync.Mutex // guards the fields below
	byKey map[core.ChannelKey]*View
	left  map[core.ChannelKey]*View // of an earlier process, until ResumeLeft
}

// New returns views without any conversation. The views compose the deliveries made before a
// turn's end.
func New(o Options) *Views {
	out := o.Out
	outbox.Compose(out, KindInterim, func(_ context.Context, _ core.Delivery, i Interim) ([]outbox.Part, error) {
		return out.AnswerParts(i.Text, i.Edit, 0), nil
	})
	outbox.Compose(out, KindChange, func(_ context.Context, _ core.Delivery, c progress.Change) ([]outbox.Part, error) {
		return outbox.Parts(view.Change(c)), nil
	})
	return &Views{
		env:      o.Base,
		feeds:    o.Feeds,
		messages: o.Messages,
		channels: o.Channels,
		sender:   o.Sender,
		out:      out,
		progress: o.Progress,
		byKey:    map[core.ChannelKey]*View{},
	}
}

// Follow shows the events of a conversation from now on. Callers must call Follow before
// submitting a message to the conversation.
func (vs *Views) Follow(key core.ChannelKey) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if v := vs.byKey[key]; v != nil {
		v.followed = time.Now()
		v.wake.Send()
	} else if to, ok := vs.env.Moves.Of(key); ok {
		vs.startLocked(vs.newView(to))
	}
}

func (vs *Views) newView(to chats.Address) *View {
	v := &View{
		Views:   vs,
		key:     to.Key(),
		to:      to,
		updates: vs.feeds.Subscribe(to.Key()),
		fold:    progress.New(vs.progress),
		wake:    wait.NewSignal(),
		open:    map[core.MessageID]core.TurnID{},
		settled: map[core.MessageID]time.Time{},
	}
	v.text = textMessage{View: v}
	return v
}

func (vs *Views) startLocked(v *View) {
	v.status, v.text.shown = v.editable(""), v.editable("")
	v.followed = time.Now()
	vs.byKey[v.key] = v
	vs.env.Work.Go(v.run)
}

// Hold passes an outcome to the conversation's view, which sends the outcome after the
// earlier deliveries. Hold returns false if the conversation has no view.
func (vs *Views) Hold(d core.Delivery) bool {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := vs.byKey[d.Channel]
	if v != nil {
		v.held = append(v.held, heldDelivery{d, time.Now()})
		v.wake.Send()
	}
	return v != nil
}

// Held returns the number of outcomes held back.
func (vs *Views) Held() (n int) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, v := range vs.byKey {
		n += len(v.held)
	}
	return n
}

// Running returns the running turn of a conversation if the turn includes a message of
// this chat.
func (vs *Views) Running(key core.ChannelKey) (turn core.TurnID) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if v := vs.byKey[key]; v != nil {
		turn = v.turn
	}
	return turn
}

// firstUpdate is older than any update: resuming after firstUpdate delivers all kept
// updates.
const firstUpdate = "-"

// Prepare subscribes to the conversations left open by an earlier process. The adapter
// calls Prepare once, before the core recovers: updates repeated by session hosts reach
// only existing subscriptions, and ResumeLeft comes later.
func (vs *Views) Prepare(ctx context.Context) error {
	open, err := vs.messages.OpenMessages(ctx, chats.Name)
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.left = map[core.ChannelKey]*View{}
	for _, m := range open {
		if v := vs.leftLocked(m.Channel); v != nil {
			v.open[m.ID] = m.Turn
		}
	}
	err2 := records.Each(ctx, vs.env.Records, records.RecordShown, func(rest string, _ shownRecord) { // messages to be finalized
		key, _, _ := strings.Cut(rest, ":")
		vs.leftLocked(core.ChannelKey(key))
	})
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("telegram: find open conversations: %w", err)
	}
	return nil
}

// leftLocked returns the view of a channel; nil if the channel is not a chat.
func (vs *Views) leftLocked(key core.ChannelKey) *View {
	if to, ok := chats.ParseAddress(key); ok && vs.left[key] == nil {
		vs.left[key] = vs.newView(to)
	}
	return vs.left[key]
}

// ResumeLeft shows the conversations left open by an earlier process.
func (vs *Views) ResumeLeft() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, v := range vs.left {
		v.to, v.resumes = vs.env.Moves.Present(v.to), true
		vs.startLocked(v)
	}
	vs.left = nil
}

// resume replaces the subscription with a new subscription beginning with all kept
// updates, also of an earlier process. resume blocks until the earlier process has
// written its updates. The earlier process does so when the present process serves.
func (v *View) resume() {
	kept := v.updates
	v.updates = v.feeds.Resume(v.key, firstUpdate)
	kept.Close()
}

// restoreMessages continues with the messages displayed by an earlier process: the newest
// status of an unfinished turn and the newest text.
func (v *View) restoreMessages(ctx context.Context) {
	prefix := strings.TrimSuffix(shownKey(v.key, 0), "0")
	err := records.Each(ctx, v.env.Records, prefix, func(rest string, r shownRecord) {
		id, _ := strconv.Atoi(rest)
		to := v.to
		to.Chat = cmp.Or(r.Chat, to.Chat)
		if r.Summary != "" || to != v.to {
			v.finalize(ctx, to, id, r.Summary)
			return
		}
		e := v.status
		if r.Name != "" {
			e = v.text.shown
		}
		if left := min(id, e.id); left != 0 {
			v.finalize(ctx, v.to, left, "")
		}
		if id > e.id {
			e.id, e.name = id, r.Name
		}
	})
	v.env.Records.Warn(ctx, "the messages of an earlier process are not readable", err, "channel", string(v.key))
}

// adopt takes over the running turn if no update names the turn: another client began
// the turn, or only an earlier process received the update.
func (v *View) adopt(ctx context.Context) {
	st, err := v.channels.Present(ctx, v.key)
	if err != nil {
		return // the adapter ends, or soon will
	}
	if s := v.fold.View(); s.Phase == progress.Running && s.Turn != st.Turn {
		return // a later turn runs
	}
	v.fold.Adopt(st)
	for _, turn := range v.open {
		if turn != "" && turn == st.Turn {
			v.setTurn(turn)
		}
	}
}
