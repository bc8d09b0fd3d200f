package telegram

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"bareclaw/core/progress"
)

const (
	// typingEvery: an action is shown for 5 s, https://core.telegram.org/bots/api#sendchataction
	typingEvery = 4 * time.Second
	// heldAtMost bounds how long an outcome waits for what was said before it, and how
	// long it is waited for.
	heldAtMost = 2 * time.Second
)

// fromTheStart is no id of an update: resuming after it gives all that is kept.
const fromTheStart = "-"

// followers show what happens on conversations: one goroutine for each that has
// an open message.
type followers struct {
	mu sync.Mutex
	of map[core.ChannelKey]*follower
}

// A follower shows what happens on one conversation while messages of it are open:
// that somebody types, what is done, the text as it is written. What becomes a
// message of its own it has delivered. Nothing but its goroutine touches it, save
// for what is said to be shared.
type follower struct {
	adapter *Adapter
	key     core.ChannelKey
	place   chats.Address
	updates *core.Subscription
	fold    *progress.Fold
	resumes bool           // an earlier process has followed the conversation
	found   []core.Message // open ones of an earlier process, until they are taken over
	verbose int

	open   map[core.MessageID]bool      // messages of this chat without an outcome
	owed   map[core.MessageID]time.Time // those with one that was not handed in yet, and since when
	turn   core.TurnID                  // the running one, if it has one of those
	typed  time.Time                    // when typing was shown last
	status status
	stream stream

	wake chan struct{} // signalled when one of the fields below has changed

	mu       sync.Mutex      // guards the fields below, which are shared
	held     []core.Delivery // outcomes that wait until what was said before is queued
	heldFrom time.Time       // since when the first of them waits
	asked    time.Time       // when it was last said that a message is about to be submitted
	runs     core.TurnID     // turn, for others
	told     []func()        // what others have it do
	ended    bool
}

// follow has a conversation be followed from now on, because a message of it is
// submitted: it must be called before that.
func (a *Adapter) follow(p chats.Address) {
	a.followers.mu.Lock()
	defer a.followers.mu.Unlock()
	if f := a.followers.of[p.Key()]; f == nil || !f.stay() {
		a.startFollower(p, a.o.Core.Subscribe(p.Key()), nil)
	}
}

// startFollower has a follower run, with what it begins with. The mutex of the
// followers is held.
func (a *Adapter) startFollower(p chats.Address, updates *core.Subscription, begin func(*follower)) {
	key := p.Key()
	f := &follower{
		adapter: a, key: key, place: p, updates: updates, open: map[core.MessageID]bool{}, owed: map[core.MessageID]time.Time{}, wake: make(chan struct{}, 1),
		fold: progress.New(progress.Options{Show: a.o.Shown, Dir: a.o.CWD}), asked: time.Now(),
	}
	f.status, f.stream = status{adapter: a, place: p}, stream{adapter: a, place: p, newest: f.newest}
	f.status.live, f.stream.live = f.status.fresh(), newLive(a, p, "stream")
	if begin != nil {
		begin(f)
	}
	if a.followers.of == nil {
		a.followers.of = map[core.ChannelKey]*follower{}
	}
	a.followers.of[key] = f
	a.work.Go(f.run)
}

func (f *follower) hold(d core.Delivery) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	if len(f.held) == 0 {
		f.heldFrom = time.Now()
	}
	f.held = append(f.held, d)
	f.poke()
	return true
}

// stay keeps the follower from ending, since a message is about to be submitted;
// false if it has ended.
func (f *follower) stay() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.asked = time.Now()
	f.poke()
	return true
}

// tell has the follower do something; false if it has ended.
func (f *follower) tell(do func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.told = append(f.told, do)
	f.poke()
	return true
}

func (f *follower) doTold() {
	f.mu.Lock()
	told := f.told
	f.told = nil
	f.mu.Unlock()
	for _, do := range told {
		do()
	}
}

func (f *follower) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run follows until nothing is open any more, or ctx ends.
func (f *follower) run(ctx context.Context) {
	if f.resumes {
		f.resume()
	}
	defer f.updates.Close()
	f.verbose = f.adapter.records.SettingsOf(ctx, f.key).Verbosity()
	f.recallShown(ctx)
	f.takeAll(ctx)
	f.adopt(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-f.updates.C():
		case <-f.wake:
		case <-timer.C:
		case <-ctx.Done():
			f.letGo(true)
			return
		}
		f.takeAll(ctx)
		f.doTold()
		now := time.Now()
		f.release(ctx, now)
		if len(f.open)+len(f.owed) == 0 && f.letGo(false) {
			f.status.finish(markdown.Document{})
			f.stream.drop(ctx)
			return
		}
		timer.Reset(time.Until(f.show(ctx, now)))
	}
}

func (f *follower) takeAll(ctx context.Context) {
	for u, ok := f.updates.Next(); ok; u, ok = f.updates.Next() {
		f.take(ctx, u)
	}
}

// take takes up what happened.
func (f *follower) take(ctx context.Context, u core.Update) {
	if u.Message != nil && u.Message.Adapter == Name {
		switch u.Kind {
		case core.UpdateAccepted:
			f.open[u.Message.ID] = true
		case core.UpdateResult:
			defer f.settled(u.Message.ID) // after what it brings
		}
	}
	news := f.fold.Take(u)
	if !f.ours(u) {
		return
	}
	for _, s := range news.Said {
		f.said(ctx, s)
	}
	for _, c := range news.Changes {
		f.changed(ctx, c)
	}
	switch u.Kind {
	case core.UpdateStarted:
		f.verbose = f.adapter.records.SettingsOf(ctx, f.key).Verbosity()
	case core.UpdateStalled:
		f.stalled(ctx, u)
	}
	if news.Ended {
		f.status.finish(statusDocument(f.calls(), f.fold.View().Summary))
		f.setTurn("")
	}
}

// settled notes that a message has its outcome.
func (f *follower) settled(id core.MessageID) {
	if f.open[id] {
		delete(f.open, id)
		f.owed[id] = time.Now()
	}
}

// calls returns the calls of tools that are shown.
func (f *follower) calls() []progress.Line {
	if f.verbose < 2 {
		return nil
	}
	return f.fold.Lines()
}

// stalled tells that nothing was heard of the turn for long.
func (f *follower) stalled(ctx context.Context, u core.Update) {
	id := fmt.Sprintf("stalled:%s:%d", u.Turn, u.At.UnixNano())
	f.adapter.say(ctx, id, f.key, Note{Text: "⏳ " + u.Detail, Buttons: stopButton(f.fold.View())})
}

// ours reports whether an update is of a turn that a message of this chat is part of.
func (f *follower) ours(u core.Update) bool {
	if u.Turn == "" {
		return len(f.open) > 0
	}
	if f.turn != u.Turn && slices.ContainsFunc(u.Messages, func(id core.MessageID) bool { return f.open[id] }) {
		f.setTurn(u.Turn)
	}
	return f.turn == u.Turn
}

func (f *follower) setTurn(id core.TurnID) {
	f.turn = id
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = id
}

// release hands on the outcomes of which all that came before is known, or that have
// waited long enough.
func (f *follower) release(ctx context.Context, now time.Time) {
	f.mu.Lock()
	late := now.Sub(f.heldFrom) >= heldAtMost
	var ready, held []core.Delivery
	for _, d := range f.held {
		if late || !f.open[d.Message] {
			ready = append(ready, d)
		} else {
			held = append(held, d)
		}
	}
	f.held = held
	f.mu.Unlock()
	for id, since := range f.owed {
		if now.Sub(since) >= heldAtMost { // it shares the reply to another one
			delete(f.owed, id)
		}
	}
	for _, d := range ready {
		delete(f.open, d.Message)
		delete(f.owed, d.Message)
		f.stream.adoptedBy(ctx, d.ID)
		f.adapter.outbox.add(d)
	}
}

// letGo says that nothing is followed any more, unless something has come up.
func (f *follower) letGo(now bool) bool {
	f.adapter.followers.mu.Lock()
	defer f.adapter.followers.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now && (len(f.held)+len(f.told) > 0 || time.Since(f.asked) < heldAtMost) {
		return false
	}
	f.ended = true
	delete(f.adapter.followers.of, f.key)
	return true
}

// show shows what is to be shown now, and returns when it is to be looked at again.
func (f *follower) show(ctx context.Context, now time.Time) time.Time {
	v := f.fold.View()
	next := now.Add(typingEvery)
	if len(f.open) == 0 {
		next = now.Add(heldAtMost) // to end
	}
	busy := len(f.open) > 0 && v.Phase != progress.Waiting && len(v.Approvals) == 0
	if busy && now.Sub(f.typed) >= typingEvery {
		f.typed = now
		f.adapter.typing(f.place)
	}
	if f.verbose == 0 || len(f.open) == 0 {
		return next
	}
	next = earliest(next, f.showStatus(v, now))
	if v.Turn == f.turn {
		next = earliest(next, f.stream.show(ctx, v, now))
	}
	return next
}

// showStatus says what goes on, and returns when that is to be looked at again.
func (f *follower) showStatus(v progress.View, now time.Time) time.Time {
	line := v.Status(now)
	drafted := f.stream.drafts() && v.Turn == f.turn && v.Text != "" && v.Tools == 0 && !f.status.live.exists()
	if line == "" || v.Phase == progress.Ended || drafted { // the draft says it all
		return time.Time{}
	}
	if n := f.queued(); v.Phase == progress.Running && v.Turn != f.turn && n > 0 {
		line = fmt.Sprintf("Your message is number %d in the queue · %s", n, line)
	}
	calls, after := f.calls(), statusAfter
	if len(calls) > 0 {
		after = 0 // each of them is wanted
	}
	return f.status.show(statusDocument(calls, line), stopButton(v), after, v.NextChange(now), now)
}

// queued returns the place in the queue of the first message of this chat; 0 if none
// of them waits.
func (f *follower) queued() int {
	first := 0
	for id := range f.open {
		if n := f.fold.Position(id); n > 0 && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}

// earliest returns the first of moments; zero ones are none.
func earliest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}
