package outbox

import (
	"testing"
	"time"
)

// TestCooldownLeft holds that a clock that was set meanwhile makes no cooldown longer
// than it was, and none negative.
func TestCooldownLeft(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pause := cooldownRecord{Until: asked.Add(time.Minute), Asked: asked}
	for _, row := range []struct {
		r    cooldownRecord
		now  time.Time
		want time.Duration
	}{
		{pause, asked, time.Minute},
		{pause, asked.Add(40 * time.Second), 20 * time.Second},
		{pause, asked.Add(time.Hour), 0},
		{pause, asked.Add(-24 * time.Hour), time.Minute},
		{cooldownRecord{}, asked, 0},
	} {
		if got := row.r.left(row.now); got != row.want {
			t.Errorf("at %s %s are left of %+v, want %s", row.now, got, row.r, row.want)
		}
	}
}
