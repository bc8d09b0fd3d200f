package heartbeat

import (
	"context"
	"time"

	"bareclaw/adapters/httpapi/api"
)

// Codes of messages that fail for a reason that the next one would meet too.
const (
	notLoggedIn = "not_logged_in"
	usageLimit  = "usage_limit"
	// waiting is our own, for a message that waits until such a reason is over.
	waiting = "waiting"
)

// skipped is how many ticks are left out before it is tried whether a trouble of unknown
// length is over.
const skipped = 5

// parks reports whether the agent is not to be asked because of a trouble.
func (t *Trouble) parks() bool { return t != nil && (t.Code == notLoggedIn || t.Code == usageLimit) }

// over reports whether a trouble that parks may have passed: its time has, or somebody
// has got an answer from the agent since, on whatever channel, or it was long ago.
func (t *Trouble) over(now time.Time, answered int64) bool {
	switch {
	case answered > t.Answered:
		return true
	case !t.Until.IsZero():
		return !now.Before(t.Until)
	}
	return t.Skipped >= skipped
}

// stillParked reports whether the agent is not asked because of an earlier tick's
// trouble, which is on record then.
func (t *tick) stillParked(ctx context.Context) (bool, error) {
	trouble := t.book.Trouble
	if !trouble.parks() {
		return false, nil
	}
	h, err := t.gateway.health(ctx)
	if err != nil {
		return false, err
	}
	if trouble.over(time.Now(), h.Ledger.Answered) {
		t.log.printf("trying whether it is over: %q", excerpt(trouble.Why))
		return false, nil
	}
	trouble.Skipped++
	t.log.printf("parked since %s: %q", trouble.Since.Format(time.RFC3339), excerpt(trouble.Why))
	return true, t.book.add(t.record(Parked, trouble.Why))
}

// waitsParked leaves the open tick's message in the gateway's queue, which runs it when
// that is possible again. The user is told once.
func (t *tick) waitsParked(ctx context.Context, m *api.Message) error {
	t.log.printf("parked: message %s waits until %s: %q", m.ID, m.Until.Format(time.RFC3339), excerpt(m.Why))
	if known := t.book.Trouble; known.parks() || known != nil && known.Code == waiting {
		return nil
	}
	if to := t.Config.HeartbeatNotify; to != "" {
		if err := t.gateway.push(ctx, to, "Heartbeat: "+sendable(m.Why), slotKey(t.slot)+":parked"); err != nil {
			t.log.printf("the user could not be told: %q; the next tick tries again", err.Error())
			return nil
		}
		t.log.printf("told %q", to)
	}
	t.book.Trouble = &Trouble{Code: waiting, Why: m.Why, Since: time.Now().UTC(), Until: m.Until}
	return t.book.save()
}
