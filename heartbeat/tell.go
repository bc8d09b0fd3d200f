package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"bareclaw/adapters/httpapi/client"
)

// mostTries is in how many ticks it is tried to tell the user the same.
const mostTries = 24

// tell closes the open tick, and tells the user what it has for them.
func (t *tick) tell(ctx context.Context, open *Tick) error {
	switch {
	case open.Push == "":
		return t.book.closeOpen()
	case open.To == "":
		open.Problem = "BARECLAW_HEARTBEAT_NOTIFY is not set: it is kept on the channel " + Channel
		t.log.printf("nobody is told: BARECLAW_HEARTBEAT_NOTIFY is not set")
		return t.book.closeOpen()
	}
	open.Owed = true
	if err := t.book.closeOpen(); err != nil {
		return err
	}
	return t.tellOwed(ctx)
}

// tellOwed tells the user what ticks have for them, also earlier ones that could not: all
// of it at once. What cannot be delivered is left to the next tick, and is no error here:
// see untold.
func (t *tick) tellOwed(ctx context.Context) error {
	for len(t.book.Owed()) > 0 {
		p := t.book.Pushing
		known := p != nil // its text and its key are those of an earlier attempt
		if !known {
			p = t.pushOf(t.book.Owed())
			t.book.Pushing = p
			if err := t.book.save(); err != nil {
				return err
			}
		}
		err := t.gateway.push(ctx, p.To, p.Text, p.Key)
		if ctx.Err() != nil {
			return context.Cause(ctx) // the next tick does the same again
		}
		if err != nil {
			t.failed(p, err)
			return t.book.save()
		}
		t.told(p)
		if err := t.book.save(); err != nil || !known {
			return err
		}
	}
	return nil
}

// pushOf makes a push of what is owed. One that has failed, and one of several ticks, has
// a key of its own, since it is another push; that of one tick has the slot's, so that
// the user is told once also where the records were lost.
func (t *tick) pushOf(owed []*Tick) *Pushing {
	newest := owed[len(owed)-1]
	p := &Pushing{Key: slotKey(newest.Slot), To: newest.To, Text: owedText(owed)}
	if to := t.Config.HeartbeatNotify; to != "" {
		p.To = to // where it failed may have been the wrong place
	}
	if len(owed) > 1 || newest.Tries > 0 {
		p.Key += ":" + time.Now().UTC().Format(time.RFC3339Nano)
	}
	for _, o := range owed {
		p.Slots = append(p.Slots, o.Slot)
	}
	return p
}

// told records that a push was delivered.
func (t *tick) told(p *Pushing) {
	t.log.printf("told %q", p.To)
	t.untold = nil
	t.settle(p, func(o *Tick) {
		o.Owed, o.Pushed, o.To, o.Problem = false, true, p.To, ""
		if o.Outcome == Said {
			o.Outcome = Told
		}
	})
}

// failed records why a push was not delivered, or is not known to be, and whether it is
// tried again.
func (t *tick) failed(p *Pushing, err error) {
	refused := (*client.Error)(nil)
	unknown := !errors.As(err, &refused) || refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusInsufficientStorage
	again := unknown || refused.Code == "delivery_failed"
	t.settle(p, func(o *Tick) {
		o.To, o.Problem = p.To, err.Error()
		if t.untold == nil || o.Tries == 0 { // once in a tick
			o.Tries++
		}
		o.Owed = again && o.Tries < mostTries
	})
	t.untold = fmt.Errorf("tell %s what the heartbeat has found: %w", p.To, err)
	if unknown && t.owes(p) {
		t.book.Pushing = p // the same again
	}
	if t.owes(p) {
		t.log.printf("%q; the next tick tries again", t.untold.Error())
	} else {
		t.log.printf("%q; that is not tried again", t.untold.Error())
	}
}

// owes reports whether some of what a push is about is still to be told.
func (t *tick) owes(p *Pushing) bool {
	return slices.ContainsFunc(t.book.Owed(), p.about)
}

// about reports whether a push tells what a tick has found.
func (p *Pushing) about(o *Tick) bool {
	return slices.ContainsFunc(p.Slots, o.Slot.Equal)
}

// settle ends a push: what became of it is recorded with the ticks that it is about.
func (t *tick) settle(p *Pushing, record func(o *Tick)) {
	t.book.Pushing = nil
	for _, o := range t.book.Owed() {
		if p.about(o) {
			record(o)
		}
	}
}
