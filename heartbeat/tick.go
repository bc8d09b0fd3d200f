package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/precheck"
)

// run goes through a tick: the gateway first, then what an earlier tick has left, then
// the question of this slot.
func (t *tick) run(ctx context.Context) error {
	err := t.revive(ctx)
	if err == nil {
		err = t.work(ctx)
	} else if !isStopped(err) {
		t.log.printf("unreachable: %q", err.Error())
		return errors.Join(err, t.book.add(t.record(NotThere, err.Error())))
	}
	if isStopped(err) {
		t.log.printf("%s", err.Error())
		return t.book.add(t.record(Stopped, ""))
	}
	return errors.Join(err, t.untold)
}

// isStopped reports whether a tick ended because a person has stopped the gateway.
func isStopped(err error) bool {
	_, stopped := errors.AsType[stoppedError](err)
	return stopped
}

// work does what a tick does where there is a gateway. That the user cannot be told may
// last: the agent looks all the same.
func (t *tick) work(ctx context.Context) error {
	if goOn, err := t.takeUp(ctx); err != nil || !goOn {
		return err
	}
	if t.untold == nil {
		if err := t.tellOwed(ctx); err != nil {
			return err
		}
	}
	return t.askDue(ctx)
}

// askDue asks the question of this slot, if it is due.
func (t *tick) askDue(ctx context.Context) error {
	if !Asks(t.Config) {
		t.log.printf("the gateway serves; the agent is not asked, as was agreed or BARECLAW_HEARTBEAT says")
		return t.book.add(t.record(Serves, ""))
	}
	if t.book.asked(t.slot) {
		t.log.printf("asked already in the slot of %s; the next one begins at %s",
			t.slot.Format(time.RFC3339), t.slot.Add(t.Config.HeartbeatInterval).Format(time.RFC3339))
		return nil
	}
	if due, err := t.due(ctx); err != nil || !due {
		return err
	}
	return t.ask(ctx)
}

// record begins the record of this tick.
func (t *tick) record(o Outcome, detail string) Tick {
	return Tick{Slot: t.slot, At: t.begun.UTC(), Outcome: o, Detail: detail, Started: t.woke}
}

// takeUp finishes what an earlier tick has left open. It reports whether this tick can
// go on.
func (t *tick) takeUp(ctx context.Context) (bool, error) {
	open := t.book.Open
	if open == nil {
		return true, nil
	}
	t.log.printf("taking up the slot of %s", open.Slot.Format(time.RFC3339))
	ours := open.Slot.Equal(t.slot)
	busy := false
	if open.Outcome == Asked && open.Message != "" && !ours {
		var err error
		if busy, err = t.stillOpen(ctx, open); err != nil {
			return false, err
		}
	}
	if err := t.finish(ctx); err != nil {
		return false, err
	}
	return !ours && !busy && t.book.Open == nil, nil
}

// stillOpen reports whether the message of an earlier slot has no outcome yet. In this
// slot none is added to it, which is on record then.
func (t *tick) stillOpen(ctx context.Context, open *Tick) (bool, error) {
	m, err := t.gateway.message(ctx, open.Message, 0)
	if err != nil {
		t.log.printf("message %s cannot be looked at: %q", open.Message, err.Error())
		return false, nil // whoever waits for it finds out more
	}
	if m.Final() {
		return false, nil
	}
	outcome := Busy
	if parked(&m) {
		outcome = Parked
	}
	t.log.printf("%s: message %s of an earlier tick is %s", outcome, m.ID, m.State)
	detail := strings.TrimSpace(fmt.Sprintf("The message of the heartbeat of %s is %s. %s", open.Slot.Format(time.RFC3339), m.State, m.Why))
	return true, t.book.add(t.record(outcome, detail))
}

// due reports whether the agent is to be asked. If it is not, that is on record.
func (t *tick) due(ctx context.Context) (bool, error) {
	if still, err := t.stillParked(ctx); err != nil || still {
		return false, err
	}
	if t.Config.HeartbeatPrecheck == "" {
		return true, nil
	}
	r, err := precheck.Run(ctx, t.Config.HeartbeatPrecheck, t.Config.CWD, t.AgentEnviron, precheck.Limit)
	said := strings.TrimSpace(fmt.Sprintf("status %d %s", r.Status, r.Said))
	switch {
	case err != nil:
		t.log.printf("failed: %q; it printed %q", err.Error(), excerpt(r.Said))
		return false, errors.Join(err, t.book.add(t.record(Failed, err.Error())))
	case r.Status != 0:
		t.log.printf("nothing to do: the precheck says %q", excerpt(said))
		return false, t.book.add(t.record(Nothing, excerpt(said)))
	}
	t.log.printf("the precheck finds something to do")
	return true, nil
}

// ask asks the agent. What is asked is on record first: a tick that is repeated asks
// the same.
func (t *tick) ask(ctx context.Context) error {
	text, err := messageText(t.Config)
	if err != nil {
		t.log.printf("failed: %q", err.Error())
		return errors.Join(err, t.book.add(t.record(Failed, err.Error())))
	}
	open := t.record(Asked, "")
	open.Asked = text
	t.book.Open = &open
	if err := t.book.save(); err != nil {
		return err
	}
	return t.finish(ctx)
}

// finish brings the open tick as far as it can be brought now.
func (t *tick) finish(ctx context.Context) error {
	open := t.book.Open
	if open.Message == "" {
		if !Asks(t.Config) {
			open.Outcome, open.Detail = Failed, "It was not asked: that is not agreed to any more."
			t.log.printf("the question of an earlier tick is not asked any more")
			return t.book.closeOpen()
		}
		if ok, err := t.post(ctx, open); err != nil || !ok {
			return err
		}
	}
	if open.Outcome == Asked {
		m, err := t.await(ctx, open)
		if err != nil || m == nil {
			return err
		}
		if err := t.conclude(ctx, open, m); err != nil {
			return err
		}
	}
	return t.tell(ctx, open)
}

// post sends the open tick's message, and reports whether it was accepted. Before it the
// session is cleared, so that what a tick costs does not grow with those before it. Both
// wait in the channel's queue, in this order, and have keys of the slot: a tick that is
// repeated clears nothing that came after the question.
func (t *tick) post(ctx context.Context, open *Tick) (bool, error) {
	m, err := t.gateway.post(ctx, clearSession, slotKey(open.Slot)+":clear")
	if err == nil {
		t.log.printf("a fresh session: message %s", m.ID)
		m, err = t.gateway.post(ctx, open.Asked, slotKey(open.Slot))
	}
	if refused := (*client.Error)(nil); errors.As(err, &refused) {
		t.log.printf("failed: the gateway refuses the message: %q", err.Error())
		open.Outcome, open.Detail = Failed, err.Error()
		return false, errors.Join(fmt.Errorf("the gateway refuses the heartbeat: %w", err), t.book.closeOpen())
	}
	if err != nil {
		return false, err // the next tick tries it again
	}
	t.log.printf("asked: message %s", m.ID)
	open.Message = m.ID
	return true, t.book.save()
}

// clearSession is the command by which claude begins a fresh session. It asks no model.
const clearSession = "/clear"

// slotKey is the key of what is done once in a slot.
func slotKey(slot time.Time) string { return "heartbeat:" + slot.UTC().Format(time.RFC3339) }

// await waits for the outcome of the open tick's message. It returns nil if there is
// none as yet, which the log says.
func (t *tick) await(ctx context.Context, open *Tick) (*api.Message, error) {
	deadline := time.Now().Add(t.Patience)
	for {
		m, err := t.gateway.message(ctx, open.Message, max(0, min(time.Until(deadline), time.Minute)))
		if err == nil && m.Final() {
			err = t.complete(ctx, &m)
		}
		refused := (*client.Error)(nil)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &refused) && refused.Code == api.NotFound:
			m = api.Message{Accepted: api.Accepted{State: api.Cancelled}, Error: "The gateway does not know the message any more."}
			return &m, nil
		case err != nil:
			t.log.printf("asked in vain: %q", err.Error())
			if err := t.pause(ctx, deadline); err != nil {
				return nil, err
			}
		case m.Final():
			return &m, nil
		case parked(&m):
			return nil, t.waitsParked(ctx, &m)
		case time.Now().After(deadline):
			t.log.printf("message %s is %s; the next tick looks for its answer", open.Message, m.State)
			return nil, nil
		}
	}
}

// pause lets a second pass before the gateway, which did not answer, is asked again. It
// is started if it has died.
func (t *tick) pause(ctx context.Context, deadline time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Second):
	}
	if time.Now().After(deadline) {
		return errors.New("the gateway does not answer")
	}
	return t.revive(ctx)
}

// complete gives a message the answer of the turn that it was a part of: another message
// may carry that.
func (t *tick) complete(ctx context.Context, m *api.Message) error {
	if m.Into == "" || m.Text != "" {
		return nil
	}
	carrier, err := t.gateway.message(ctx, m.Into, 0)
	m.Text = carrier.Text
	return err
}
