package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/feed"
	"bareclaw/core/progress"
	"bareclaw/internal/wait"
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
// Only the view's goroutine touches the fields above wake, and only that goroutine changes
// turn.
type View struct {
	*Views
	key     core.ChannelKey
	to      chats.Address
	updates *feed.Subscription
	fold    *progress.Fold
	resumes bool // an earlier process has followed the conversation
	verbose int

	open    map[core.MessageID]core.TurnID // messages of this chat without an outcome, and the turn known to an earlier process
	settled map[core.MessageID]time.Time   // messages with an outcome not handed in yet, and since when
	typed   time.Time                      // last typing action
	text    textMessage

	status        *editable                   // of the running or next turn
	statusSince   time.Time                   // time of the first status to show
	statusChanged time.Time                   // last change of the status
	ended         []func(ctx context.Context) // finalize statuses, once an outcome of the turn is queued

	wake wait.Signal // sent when a field below has changed

	// Views.mu guards the fields below.
	followed time.Time      // last call of Follow
	turn     core.TurnID    // running turn with a message of this chat
	held     []heldDelivery // outcomes, until the earlier deliveries are queued
}

type heldDelivery struct {
	core.Delivery
	since time.Time
}

func (v *View) editable(name string) *editable {
	return &editable{views: v.Views, to: v.to, name: name}
}

func (v *View) heldBack() []heldDelivery {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.held)
}

func (v *View) release(d core.Delivery) {
	v.out.Add(d)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = slices.DeleteFunc(v.held, func(h heldDelivery) bool { return h.ID == d.ID })
}

// run shows the conversation until no message is open, or ctx ends. If run panics, the
// outcomes are sent all the same.
func (v *View) run(ctx context.Context) {
	defer func() {
		v.updates.Close()
		v.close(true)
		for _, h := range v.heldBack() {
			v.release(h.Delivery)
		}
		v.finalizeEnded()
	}()
	if v.resumes {
		v.resume()
	}
	v.verbose = v.env.Records.Verbosity(ctx, v.key)
	v.restoreMessages(ctx)
	v.applyAll(ctx)
	v.adopt(ctx)
	v.loop(ctx)
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
			return
		}
		v.applyAll(ctx)
		if to := v.env.Moves.Present(v.to); to != v.to {
			v.moveTo(ctx, to)
		}
		now := time.Now()
		v.releaseHeld(ctx, now)
		if len(v.open)+len(v.settled) == 0 && v.close(false) {
			v.endStatus(ctx, "")
			v.text.discard(ctx)
			return
		}
		timer.Reset(time.Until(v.show(ctx, now)))
	}
}

// close ends the view. Unless forced, close returns false while work is left.
func (v *View) close(force bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !force && (len(v.held) > 0 || time.Since(v.followed) < maxHold) {
		return false
	}
	if v.byKey[v.key] == v {
		delete(v.byKey, v.key)
	}
	return true
}

func (v *View) applyAll(ctx context.Context) {
	for u, ok := v.updates.Next(); ok; u, ok = v.updates.Next() {
		v.apply(ctx, u)
	}
}

func (v *View) apply(ctx context.Context, u core.Update) {
	if u.Message != nil && u.Message.Adapter == chats.Name {
		switch u.Kind {
		case core.UpdateAccepted:
			if !v.isOpen(u.Message.ID) {
				v.open[u.Message.ID] = ""
			}
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
		v.verbose = v.env.Records.Verbosity(ctx, v.key)
	case core.UpdateStalled:
		v.stalled(ctx, u)
	}
	if news.Ended {
		v.endStatus(ctx, view.Status(v.calls(), v.fold.View().Summary))
		v.setTurn("")
	}
}

func (v *View) settle(id core.MessageID) {
	if v.isOpen(id) {
		delete(v.open, id)
		v.settled[id] = time.Now()
	}
}

func (v *View) isOpen(id core.MessageID) bool {
	_, open := v.open[id]
	return open
}

// concerns reports whether an update belongs to a turn with a message of this chat.
func (v *View) concerns(u core.Update) bool {
	if u.Turn == "" {
		return len(v.open) > 0
	}
	if v.turn != u.Turn && slices.ContainsFunc(u.Messages, v.isOpen) {
		v.setTurn(u.Turn)
	}
	return v.turn == u.Turn
}

func (v *View) setTurn(id core.TurnID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.turn = id
}

func (v *View) calls() []progress.Line {
	if v.verbose < 2 {
		return nil
	}
	return v.fold.Lines()
}

// moveTo shows new messages in another chat. The messages of the old chat cannot be
// changed any more.
func (v *View) moveTo(ctx context.Context, to chats.Address) {
	v.to = to
	v.text.discard(ctx)
	v.endStatus(ctx, "")
}

func (v *View) interim(ctx context.Context, s progress.Said) {
	shown := v.text.take(ctx, s.Stream)
	switch {
	case v.verbose == 0 && shown != 0:
		v.finalize(ctx, v.to, shown, "")
	case shown != 0:
		v.deliver(ctx, "said:"+s.ID, KindInterim, Interim{Text: s.Text, Edit: shown}, records.Entry{Key: shownKey(v.key, shown)})
	case v.verbose > 0:
		v.deliver(ctx, "said:"+s.ID, KindInterim, Interim{Text: s.Text})
	}
}

func (v *View) change(ctx context.Context, c progress.Change) {
	if v.verbose == 0 {
		return
	}
	c.Old, c.New = c.Old[:min(len(c.Old), maxChange)], c.New[:min(len(c.New), maxChange)]
	v.deliver(ctx, "change:"+c.ID, KindChange, c)
}

func (v *View) deliver(ctx context.Context, id string, kind core.DeliveryKind, body any, also ...records.Entry) {
	err := v.out.Deliver(ctx, core.Delivery{ID: id, Kind: kind, Channel: v.key, Message: v.newest()}, body, also...)
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

func (v *View) stalled(ctx context.Context, u core.Update) {
	id := fmt.Sprintf("stalled:%s:%d", u.Turn, u.At.UnixNano())
	v.out.Say(ctx, id, v.key, view.Note{Text: "⏳ " + u.Detail, Buttons: view.StopButton(v.fold.View())})
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
		if v.isOpen(h.Message) && now.Sub(h.since) < maxHold {
			continue
		}
		delete(v.open, h.Message)
		delete(v.settled, h.Message)
		v.text.becomes(ctx, h.ID)
		v.release(h.Delivery)
		v.finalizeEnded()
	}
	if len(v.settled) == 0 {
		v.finalizeEnded()
	}
}

func (v *View) show(ctx context.Context, now time.Time) time.Time {
	state := v.fold.View()
	next := now.Add(outbox.TypingEvery)
	if len(v.open) == 0 || len(v.heldBack()) > 0 {
		next = now.Add(maxHold)
	}
	busy := len(v.open) > 0 && state.Phase != progress.Waiting && len(state.Approvals) == 0
	if busy && now.Sub(v.typed) >= outbox.TypingEvery {
		v.typed = now
		v.sender.Typing(v.to)
	}
	if v.verbose == 0 || len(v.open) == 0 {
		return next
	}
	next = wait.Earliest(next, v.showStatus(state, now))
	if state.Turn == v.turn {
		next = wait.Earliest(next, v.text.show(ctx, state, now))
	}
	return next
}
