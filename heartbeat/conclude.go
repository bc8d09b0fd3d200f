package heartbeat

import (
	"cmp"
	"context"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
)

// conclude makes of the message's outcome what the open tick comes to, and what the
// user is to be told. That is on record before anything is told.
func (t *tick) conclude(ctx context.Context, open *Tick, m *api.Message) error {
	open.CostUSD, open.TookMS = m.CostUSD, m.DurationMS
	switch {
	case m.State == "answered" && allWell(m.Text):
		open.Outcome, open.Detail = OK, AllWell
		t.log.printf("ok: %s", AllWell)
	case m.State == "answered":
		open.Outcome, open.Detail = Said, m.Text
		if open.Push = strings.TrimSpace(sendable(m.Text)); open.Push == "" {
			open.Problem = "the answer is empty"
		}
		t.log.printf("the agent says %q", excerpt(m.Text))
	case m.State == "cancelled":
		open.Outcome, open.Detail = Failed, cmp.Or(m.Error, "The message was cancelled.")
		t.log.printf("failed: %q", open.Detail)
	default:
		open.Outcome, open.Detail = Failed, cmp.Or(m.Error, m.Text)
		t.log.printf("failed (%q): %q", m.Code, excerpt(open.Detail))
		if err := t.meet(ctx, open, m.Code); err != nil {
			return err
		}
	}
	if m.State == "answered" {
		t.book.Trouble = nil
	}
	open.To = t.Config.HeartbeatNotify
	return t.book.save()
}

// meet notes why ticks fail. The user is told when that begins, or becomes another
// reason.
func (t *tick) meet(ctx context.Context, open *Tick, code string) error {
	h, err := t.gateway.health(ctx)
	if err != nil {
		return err
	}
	known := t.book.Trouble
	if known == nil || known.Code != code {
		open.Push = strings.TrimSpace("Heartbeat: " + sendable(open.Detail) + advice(code))
		known = &Trouble{Code: code, Since: time.Now().UTC()}
	}
	known.Why, known.Answered, known.Skipped, known.Until = open.Detail, h.Ledger.Answered, 0, time.Time{}
	if code == usageLimit {
		if known.Until, err = t.gateway.parkedUntil(ctx); err != nil {
			return err
		}
	}
	if code == usageLimit || code == notLoggedIn {
		open.Outcome = Parked
	}
	t.book.Trouble = known
	return nil
}

// advice says for a person what follows from a trouble.
func advice(code string) string {
	switch code {
	case notLoggedIn:
		return "\n\nLog in again by running `claude` on the gateway's machine. Until then the heartbeat asks nothing."
	case usageLimit:
		return "\n\nUntil that is over the heartbeat asks nothing."
	}
	return ""
}
