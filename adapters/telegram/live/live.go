// Package live shows a turn in the chat while the turn runs: a typing action, a status
// message, and the text being written. Package live delivers what Claude says and
// changes before the answer, and holds each outcome back until the earlier texts are
// queued.
package live

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/core"
	"bareclaw/core/feed"
	"bareclaw/core/progress"
)

// Channels reports the events of the core's channels.
type Channels interface {
	Subscribe(key core.ChannelKey) *feed.Subscription
	Resume(key core.ChannelKey, after string) *feed.Subscription
	Present(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error)
}

// Ledger looks up open messages and stores deliveries in the core.
type Ledger interface {
	OpenMessages(ctx context.Context, adapter string) ([]core.Message, error)
	DeliverWithRecords(ctx context.Context, rs []*core.Record, ds ...*core.Delivery) error
}

// Options hold the dependencies of Views. All are required, except Dir.
type Options struct {
	Channels Channels
	Ledger   Ledger
	Out      *outbox.Outbox
	Sender   *outbox.Sender
	Store    *records.Store
	Work     *tasks.Group
	Log      *slog.Logger
	Moves    *chats.Moves
	Show     func(line json.RawMessage) []core.DisplayEvent // decodes a line of the agent for display
	Dir      string                                         // working directory of the agent
}

// Views are the views of all conversations with an open message. Their methods are safe
// for concurrent use.
type Views struct {
	o        Options
	noDrafts atomic.Bool // the Bot API server does not support drafts
	statuses sync.Mutex  // serialises changes of status records

	mu    sync.Mutex // guards the fields below
	byKey map[core.ChannelKey]*View
	left  map[core.ChannelKey]*leftOpen // of an earlier process, until ResumeLeft
}

// New returns views without any conversation.
func New(o Options) *Views { return &Views{o: o, byKey: map[core.ChannelKey]*View{}} }

// Follow shows the events of a conversation from now on. Callers must call Follow before
// submitting a message to the conversation.
func (vs *Views) Follow(key core.ChannelKey) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if to, ok := vs.o.Moves.Of(key); ok && (vs.byKey[key] == nil || !vs.byKey[key].keepAlive()) {
		vs.startLocked(to, vs.o.Channels.Subscribe(key), nil)
	}
}

// startLocked starts a view. The function begin, if not nil, first sets the state of the
// view.
func (vs *Views) startLocked(to chats.Address, updates *feed.Subscription, begin func(*View)) {
	v := &View{
		views: vs, o: &vs.o, key: to.Key(), to: to, updates: updates, wake: make(chan struct{}, 1), followed: time.Now(),
		open: map[core.MessageID]bool{}, settled: map[core.MessageID]time.Time{},
		fold: progress.New(progress.Options{Show: vs.o.Show, Dir: vs.o.Dir}),
	}
	v.status, v.text = newStatusMessage(vs, to), newTextMessage(vs, to, v.newest)
	if begin != nil {
		begin(v)
	}
	vs.byKey[v.key] = v
	vs.o.Work.Go(v.run)
}

func (vs *Views) find(key core.ChannelKey) *View {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.byKey[key]
}

// Hold queues an outcome, which the conversation's view releases after queueing the
// earlier deliveries. Hold returns false if the conversation has no view.
func (vs *Views) Hold(d core.Delivery) bool {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := vs.byKey[d.Channel]
	if v == nil {
		return false
	}
	vs.o.Out.AddHeld(d)
	v.signal()
	return true
}

// Running returns the running turn of a conversation if the turn includes a message of
// this chat.
func (vs *Views) Running(key core.ChannelKey) core.TurnID {
	v := vs.find(key)
	if v == nil {
		return ""
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.running
}

// Move continues a view in the supergroup that replaced the chat.
func (vs *Views) Move(to chats.Address) {
	if v := vs.find(to.Key()); v != nil {
		v.do(func() { v.moveTo(to) })
	}
}
