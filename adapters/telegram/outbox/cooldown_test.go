package outbox

import (
	"testing"
	"time"

	"bareclaw/core"
)

// TestCooldownLeft holds that a clock that was set meanwhile makes no cooldown longer
// than it was, and none negative.
func TestCooldownLeft(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := core.Record{Doc: []byte(`{"until":"2026-03-01T12:01:00Z"}`), At: asked}
	for _, row := range []struct {
		r    core.Record
		now  time.Time
		want time.Duration
	}{
		{record, asked, time.Minute},
		{record, asked.Add(40 * time.Second), 20 * time.Second},
		{record, asked.Add(time.Hour), 0},
		{record, asked.Add(-24 * time.Hour), time.Minute},
		{core.Record{Doc: []byte(`{`), At: asked}, asked, 0},
		{core.Record{Doc: []byte(`{}`), At: asked}, asked, 0},
	} {
		if got := cooldownLeft(row.r, row.now); got != row.want {
			t.Errorf("at %s %s are left of %s, want %s", row.now, got, row.r.Doc, row.want)
		}
	}
}
