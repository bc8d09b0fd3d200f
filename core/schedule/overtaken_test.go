package schedule_test

import (
	"context"
	"testing"
	"time"

	"bareclaw/core/schedule"
	"bareclaw/internal/testkit/check"
)

// TestResumeDuringThePrecheck: a due time that passed during a pause, or whose precheck a pause has
// overtaken, has no outcome.
func TestResumeDuringThePrecheck(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context, _ string) (schedule.PrecheckResult, error) {
		select {
		case <-time.After(5 * time.Minute):
		case <-ctx.Done():
		}
		return schedule.PrecheckResult{}, ctx.Err()
	}
	play(t, schedule.Options{Precheck: slow}, func(t *testing.T, w *world) {
		j := w.add(schedule.Job{When: "every 10m", Missed: "once", Precheck: "slow"})
		w.after(11 * time.Minute) // due a minute ago
		_, err := w.Pause(t.Context(), j.ID)
		check.OK(t, err)
		w.after(2 * time.Minute)
		_, err = w.Resume(t.Context(), j.ID)
		check.OK(t, err)
		w.after(4 * time.Minute) // the precheck has ended
		w.wants(j)
		if n := len(w.memory.sent()); n != 0 {
			t.Errorf("%d messages are sent for a time before Resume", n)
		}
		w.after(9 * time.Minute)
		w.wants(j, schedule.Sent)
	})
}

// TestRunNowKilled: a run that was sent and not recorded is not sent again.
func TestRunNowKilled(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		j := w.add(schedule.Job{When: "in 10m"})
		due := time.Now().UTC().Add(time.Minute).Truncate(time.Second)
		w.memory.set(func(m *memory) { m.failPut = m.puts + 1 })
		if _, err := w.RunNow(t.Context(), j.ID, due); err == nil {
			t.Error("the run is recorded")
		}
		w.end()
		w.start(schedule.Options{})
		_, err := w.RunNow(t.Context(), j.ID, due)
		check.OK(t, err)
		w.after(11 * time.Minute)
		w.wants(j, schedule.Sent, schedule.Sent)
		if n := len(w.memory.sent()); n != 2 {
			t.Errorf("%d messages, want the run and the due time", n)
		}
	})
}
