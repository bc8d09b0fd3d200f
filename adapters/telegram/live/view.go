package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/feed"
	"bareclaw/core/progress"
)

// maxHold bounds how long an outcome waits for the view, and a view for an outcome.
const maxHold = 2 * time.Second

// The kinds of deliveries made by a turn before the turn's end.
const (
	KindInterim core.DeliveryKind = "said"   // Body is an Interim
	KindChange  core.DeliveryKind = "change" // Body is a progress.Change
)

// An Interim is a text written by Claude before the answer.
type Interim struct {
	Text string `json:"text"`           // Markdown
	Edit int    `json:"edit,omitempty"` // message that displayed the unfinished text
}

// maxChange bounds each side of a recorded change, in bytes: the chat shows less.
const maxChange = 16 << 10

// A View shows the events of a conversation while messages of the conversation are open.
// Only the view's goroutine touches the fields above mu, and only that goroutine changes
// turn.
type View struct {
	views   *Views
	env     *env.Env
	key     core.ChannelKey
	to      chats.Address
	updates *feed.Subscription
	fold    *progress.Fold
	resumes bool           // an earlier process has followed the conversation
	found   []core.Message // open messages of an earlier process, until adopt
	verbose int

	open    map[core.MessageID]bool      // messages of this chat without an outcome
	settled map[core.MessageID]time.Time // messages with an outcome not handed in yet, and since when
	typed   time.Time                    // last typing action
	status  *statusMessage
	text    *textMessage

	wake chan struct{} // signalled when a field below, or a held delivery, has changed

	mu       sync.Mutex     // guards the fields below
	followed time.Time      // last call of Follow
	turn     core.TurnID    // running turn with a message of this chat
	held     []heldDelivery // outcomes, until the earlier deliveries are queued
	closed   bool
}

// A heldDelivery is an outcome held back, and since when.
type heldDelivery struct {
	core.Delivery
	since time.Time
}

// keepAlive keeps the view from ending before a submission. keepAlive returns false if
// the view has ended.
func (v *View) keepAlive() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.followed = time.Now()
	v.signal()
	return !v.closed
}

func (v *View) hold(d core.Delivery) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = append(v.held, heldDelivery{d, time.Now()})
	v.signal()
}

func (v *View) heldBack() []heldDelivery {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.held)
}

func (v *View) release(d core.Delivery) {
	v.views.out.Add(d)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = slices.DeleteFunc(v.held, func(h heldDelivery) bool { return h.ID == d.ID })
}

func (v *View) signal() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// run shows the conversation until no message is open, or ctx ends. If run panics, the
// outcomes are sent without a view.
func (v *View) run(ctx context.Context) {
	returned := false
	defer func() {
		v.updates.Close()
		if !returned {
			v.abandon()
		}
	}()
	if v.resumes {
		v.resume()
	}
	v.verbose = v.env.Records.SettingsOf(ctx, v.key).Verbosity()
	v.restoreMessages(ctx)
	v.applyAll(ctx)
	v.adopt(ctx)
	v.loop(ctx)
	returned = true
}

func (v *View) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-v.updates.C():
		case <-v.wake:
		case <-timer.C:
		case <-ctx.Done():
			v.close(true)
			return
		}
		v.applyAll(ctx)
		if to := v.env.Moves.Present(v.to); to != v.to {
			v.moveTo(ctx, to)
		}
		now := time.Now()
		v.releaseHeld(ctx, now)
		if len(v.open)+len(v.settled) == 0 && v.close(false) {
			v.status.finish(markdown.Document{})
			v.text.discard(ctx)
			return
		}
		timer.Reset(time.Until(v.show(ctx, now)))
	}
}

// close ends the view. Unless forced, close returns false while work is left.
func (v *View) close(force bool) bool {
	v.views.mu.Lock()
	defer v.views.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if !force && (len(v.held) > 0 || time.Since(v.followed) < maxHold) {
		return false
	}
	v.closed = true
	if v.views.byKey[v.key] == v {
		delete(v.views.byKey, v.key)
	}
	return true
}

func (v *View) abandon() {
	v.close(true)
	for _, h := range v.heldBack() {
		v.release(h.Delivery)
	}
}

func (v *View) applyAll(ctx context.Context) {
	for u, ok := v.updates.Next(); ok; u, ok = v.updates.Next() {
		v.apply(ctx, u)
	}
}

// apply processes an update, and delivers the texts in the update.
func (v *View) apply(ctx context.Context, u core.Update) {
	if u.Message != nil && u.Message.Adapter == chats.Name {
		switch u.Kind {
		case core.UpdateAccepted:
			v.open[u.Message.ID] = true
		case core.UpdateResult:
			defer v.settle(u.Message.ID) // after delivering the texts of the result
		}
	}
	news := v.fold.Take(u)
	if !v.concerns(u) {
		return
	}
	for _, s := range news.Said {
		v.interim(ctx, s)
	}
	for _, c := range news.Changes {
		v.change(ctx, c)
	}
	switch u.Kind {
	case core.UpdateStarted:
		v.verbose = v.env.Records.SettingsOf(ctx, v.key).Verbosity()
	case core.UpdateStalled:
		v.stalled(ctx, u)
	}
	if news.Ended {
		v.status.finish(view.Status(v.calls(), v.fold.View().Summary))
		v.setTurn("")
	}
}

func (v *View) settle(id core.MessageID) {
	if v.open[id] {
		delete(v.open, id)
		v.settled[id] = time.Now()
	}
}

// concerns reports whether an update belongs to a turn with a message of this chat.
func (v *View) concerns(u core.Update) bool {
	if u.Turn == "" {
		return len(v.open) > 0
	}
	if v.turn != u.Turn && slices.ContainsFunc(u.Messages, func(id core.MessageID) bool { return v.open[id] }) {
		v.setTurn(u.Turn)
	}
	return v.turn == u.Turn
}

func (v *View) setTurn(id core.TurnID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.turn = id
}

// calls returns the calls of tools to be shown.
func (v *View) calls() []progress.Line {
	if v.verbose < 2 {
		return nil
	}
	return v.fold.Lines()
}

// moveTo shows new messages in another chat. The messages of the old chat cannot be
// changed any more.
func (v *View) moveTo(ctx context.Context, to chats.Address) {
	v.text.discard(ctx)
	v.to, v.status.to, v.text.to = to, to, to
	v.status.finish(markdown.Document{})
}

// interim delivers a text other than the answer.
func (v *View) interim(ctx context.Context, s progress.Said) {
	shown, forget := v.text.take(ctx, s.Stream)
	switch {
	case v.verbose > 0:
		v.deliver(ctx, "said:"+s.ID, KindInterim, Interim{Text: s.Text, Edit: shown}, forget...)
	case shown != 0:
		v.views.finalize(ctx, v.to, shown, markdown.Document{}, forget...)
	}
}

func (v *View) change(ctx context.Context, c progress.Change) {
	if v.verbose == 0 {
		return
	}
	c.Old, c.New = c.Old[:min(len(c.Old), maxChange)], c.New[:min(len(c.New), maxChange)]
	v.deliver(ctx, "change:"+c.ID, KindChange, c)
}

// deliver records a delivery together with records.
func (v *View) deliver(ctx context.Context, id string, kind core.DeliveryKind, body any, also ...records.Entry) {
	err := v.views.out.Deliver(ctx, core.Delivery{ID: id, Kind: kind, Channel: v.key, Message: v.newest()}, body, also...)
	v.env.Records.Warn(ctx, "interim text not delivered", err, "channel", string(v.key))
}

// newest returns the newest open message. The newest message carries the reply.
func (v *View) newest() core.MessageID {
	var newest core.MessageID
	for m := range v.open {
		newest = max(newest, m)
	}
	return newest
}

// stalled reports a long silence of the turn to the chat.
func (v *View) stalled(ctx context.Context, u core.Update) {
	id := fmt.Sprintf("stalled:%s:%d", u.Turn, u.At.UnixNano())
	v.views.out.Say(ctx, id, v.key, view.Note{Text: "⏳ " + u.Detail, Buttons: view.StopButton(v.fold.View())})
}

// releaseHeld sends the outcomes whose earlier deliveries are all queued, and the
// outcomes that have waited for maxHold.
func (v *View) releaseHeld(ctx context.Context, now time.Time) {
	for id, since := range v.settled {
		if now.Sub(since) >= maxHold { // the message shares the reply to another message
			delete(v.settled, id)
		}
	}
	for _, h := range v.heldBack() {
		if v.open[h.Message] && now.Sub(h.since) < maxHold {
			continue
		}
		delete(v.open, h.Message)
		delete(v.settled, h.Message)
		v.text.becomes(ctx, h.ID)
		v.release(h.Delivery)
	}
}

// show displays the current state, and returns when to call show again.
func (v *View) show(ctx context.Context, now time.Time) time.Time {
	state := v.fold.View()
	next := now.Add(outbox.TypingEvery)
	if len(v.open) == 0 || len(v.heldBack()) > 0 {
		next = now.Add(maxHold)
	}
	busy := len(v.open) > 0 && state.Phase != progress.Waiting && len(state.Approvals) == 0
	if busy && now.Sub(v.typed) >= outbox.TypingEvery {
		v.typed = now
		v.views.sender.Typing(v.to)
	}
	if v.verbose == 0 || len(v.open) == 0 {
		return next
	}
	next = earliest(next, v.showStatus(state, now))
	if state.Turn == v.turn {
		next = earliest(next, v.text.show(ctx, state, now))
	}
	return next
}

// showStatus updates the status message, and returns when to look again.
func (v *View) showStatus(state progress.View, now time.Time) time.Time {
	line := state.Status(now)
	drafted := v.text.drafts() && state.Turn == v.turn && state.Text != "" && state.Tools == 0 && v.status.shown.message() == 0
	if line == "" || state.Phase == progress.Ended || drafted { // a draft shows enough
		return time.Time{}
	}
	if n := v.position(); state.Phase == progress.Running && state.Turn != v.turn && n > 0 {
		line = fmt.Sprintf("Your message is number %d in the queue · %s", n, line)
	}
	calls, delay := v.calls(), statusDelay
	if len(calls) > 0 {
		delay = 0 // the user wants each call
	}
	return v.status.show(view.Status(calls, line), view.StopButton(state), delay, state.NextChange(now), now)
}

// position returns the queue position of the first waiting message of this chat; 0: none
// waits.
func (v *View) position() int {
	first := 0
	for id := range v.open {
		if n := v.fold.Position(id); n > 0 && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}

// earliest returns the earliest moment. Zero moments do not count.
func earliest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
