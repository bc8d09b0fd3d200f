// Package live shows a turn in the chat while the turn runs: a typing action, a status
// message, and the text being written. Package live delivers what Claude says and
// changes before the answer, and holds each outcome back until the earlier texts are
// queued.
package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/progress"
)

// Views are the views of all conversations with an open message. Their methods are safe
// for concurrent use.
type Views struct {
	*finalizer
	out      *outbox.Outbox
	progress progress.Options
	noDrafts atomic.Bool // the Bot API server does not support drafts

	mu    sync.Mutex // guards the fields below
	byKey map[core.ChannelKey]*View
	left  map[core.ChannelKey]*leftOpen // of an earlier process, until ResumeLeft
}

// New returns views without any conversation. The views compose the deliveries made before a
// turn's end.
func New(e *env.Env, out *outbox.Outbox, s *outbox.Sender, p progress.Options) *Views {
	outbox.Compose(out, KindInterim, func(_ context.Context, _ core.Delivery, i Interim) ([]outbox.Part, error) {
		return out.AnswerParts(i.Text, i.Edit, 0), nil
	})
	outbox.Compose(out, KindChange, func(_ context.Context, _ core.Delivery, c progress.Change) ([]outbox.Part, error) {
		return outbox.Parts(view.Change(c)), nil
	})
	return &Views{finalizer: &finalizer{env: e, sender: s}, out: out, progress: p, byKey: map[core.ChannelKey]*View{}}
}

// Follow shows the events of a conversation from now on. Callers must call Follow before
// submitting a message to the conversation.
func (vs *Views) Follow(key core.ChannelKey) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if to, ok := vs.env.Moves.Of(key); ok && (vs.byKey[key] == nil || !vs.byKey[key].keepAlive()) {
		vs.startLocked(to, &leftOpen{updates: vs.env.Subscribe(key)}, false)
	}
}

// startLocked starts a view, or resumes the view of an earlier process.
func (vs *Views) startLocked(to chats.Address, of *leftOpen, resumes bool) {
	v := &View{
		views: vs, env: vs.env, key: to.Key(), to: to, updates: of.updates, resumes: resumes, found: of.open, wake: make(chan struct{}, 1), followed: time.Now(),
		open: map[core.MessageID]bool{}, settled: map[core.MessageID]time.Time{},
		fold: progress.New(vs.progress),
	}
	v.status, v.text = newStatusMessage(vs, to), newTextMessage(vs, to, v.newest)
	for _, m := range of.open {
		v.open[m.ID] = true
	}
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
		v.hold(d)
	}
	return v != nil
}

// Held returns the number of outcomes held back.
func (vs *Views) Held() (n int) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, v := range vs.byKey {
		n += len(v.heldBack())
	}
	return n
}

// Running returns the running turn of a conversation if the turn includes a message of
// this chat.
func (vs *Views) Running(key core.ChannelKey) core.TurnID {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := vs.byKey[key]
	if v == nil {
		return ""
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.turn
}

// Moved continues a view in the supergroup that replaced the chat.
func (vs *Views) Moved(key core.ChannelKey) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if v := vs.byKey[key]; v != nil {
		v.signal()
	}
}
