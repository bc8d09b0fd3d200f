package sqlite_test

import (
	"errors"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// A turn that is known to have done nothing gives its messages back.
func TestRequeue(t *testing.T) {
	t.Parallel()
	for name, arrived := range map[string]bool{"posted": false, "arrived": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t)
			m, turn := begun(t, l)
			if !arrived {
				wantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1}) // which posts
			}
			turn.EndedAt, turn.Code = day, "usage_limit"
			mustWrite(t, l, core.Change{End: []*core.Turn{turn}, Requeue: []core.MessageID{m.ID}})
			got, err := l.Message(t.Context(), m.ID)
			check.OK(t, err)
			if got.State != core.Waiting || got.Turn != "" || !got.DispatchedAt.IsZero() {
				t.Errorf("message = %+v, want it as before its turn", got)
			}
			ms, ts, err := l.Open(t.Context())
			if err != nil || len(ms) != 1 || len(ts) != 0 {
				t.Errorf("%d messages and %d turns are open (%v), want the message alone", len(ms), len(ts), err)
			}
			wantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1})
			again := turnOf(m)
			mustWrite(t, l, core.Change{Begin: []*core.Turn{again}})
			mustWrite(t, l, answered(m, again))
			wantBalance(t, l, core.Balance{Accepted: 1, Answered: 1})
			mustWrite(t, l, core.Change{Requeue: []core.MessageID{m.ID}}) // it keeps its outcome
			wantBalance(t, l, core.Balance{Accepted: 1, Answered: 1})
			if err := write(l, core.Change{Requeue: []core.MessageID{"x"}}); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("an unknown message is put back: %v", err)
			}
		})
	}
}
