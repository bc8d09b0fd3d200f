package schedule_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/internal/shortid"
	"bareclaw/internal/testkit/check"
)

// TestPause: a paused job sends nothing, also over the death of the process, and what was due during
// the pause is neither sent nor missed.
func TestPause(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		j := w.add(schedule.Job{When: "every 1h", Missed: "once"})
		w.after(61 * time.Minute)
		w.wants(j, schedule.Sent)
		for range 2 {
			paused, err := w.Pause(t.Context(), j.ID)
			check.OK(t, err)
			if !paused.Paused || len(w.Next(&paused)) != 0 {
				t.Errorf("paused is %+v", paused)
			}
		}
		w.after(3 * time.Hour)
		w.end()
		w.start(schedule.Options{})
		w.after(3 * time.Hour)
		w.wants(j, schedule.Sent)
		for range 2 {
			resumed, err := w.Resume(t.Context(), j.ID)
			check.OK(t, err)
			if resumed.Paused || len(w.Next(&resumed)) != 3 {
				t.Errorf("resumed is %+v", resumed)
			}
		}
		w.after(time.Minute)
		w.wants(j, schedule.Sent)
		w.after(time.Hour)
		w.wants(j, schedule.Sent, schedule.Sent)
		once := w.add(schedule.Job{When: "in 30m"})
		if _, err := w.Pause(t.Context(), once.ID); err != nil {
			t.Error(err)
		}
		w.after(time.Hour)
		if _, err := w.Resume(t.Context(), once.ID); !errors.Is(err, schedule.ErrOver) {
			t.Errorf("what passed is resumed: %v", err)
		}
		if _, err := w.Pause(t.Context(), "none"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("an unknown one is paused: %v", err)
		}
	})
}

// TestPauseDuringThePrecheck: what a precheck is asked about is not sent once its job is paused.
func TestPauseDuringThePrecheck(t *testing.T) {
	t.Parallel()
	playWorld(t, func(t *testing.T, w *world) {
		answer := make(chan schedule.PrecheckResult)
		w.start(schedule.Options{Precheck: answering(answer)})
		j := w.add(schedule.Job{When: "every 1h", Precheck: "true"})
		w.after(61 * time.Minute)
		_, err := w.Pause(t.Context(), j.ID)
		check.OK(t, err)
		answer <- schedule.PrecheckResult{}
		w.after(time.Minute)
		w.wants(j)
		if n := len(w.memory.sent()); n != 0 {
			t.Errorf("%d messages of a paused job", n)
		}
	})
}

// TestRunNow: a job is run besides its times, which stay; the same run is sent once, also where the
// process was killed before it was recorded.
func TestRunNow(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		once := w.add(schedule.Job{When: "in 1h", Precheck: "exit 1"})
		now := time.Now()
		w.memory.set(func(m *memory) { m.failPut = 1 })
		if _, err := w.RunNow(t.Context(), once.ID, now); !errors.Is(err, core.ErrClosed) {
			t.Errorf("the killed run: %v", err)
		}
		for range 2 {
			o, err := w.RunNow(t.Context(), once.ID, now)
			if err != nil || o.Outcome != schedule.Sent || o.Message != "m0" || !o.ByHand {
				t.Errorf("the run is %+v, %v", o, err)
			}
		}
		if n := len(w.memory.sent()); n != 1 {
			t.Errorf("%d messages of one run", n)
		}
		if j, _, err := w.Job(t.Context(), once.ID); err != nil || !j.DoneAt.IsZero() || len(w.Next(&j)) != 1 {
			t.Errorf("a single time is over: %+v, %v", j, err)
		}
		budget := w.add(schedule.Job{When: "every 1h", Budget: 1})
		_, err := w.RunNow(t.Context(), budget.ID, now)
		check.OK(t, err)
		w.memory.set(func(m *memory) { m.cost = 2 })
		if o, err := w.RunNow(t.Context(), budget.ID, now.Add(time.Second)); err != nil || o.Outcome != schedule.Refused || o.Why == "" {
			t.Errorf("a run beyond the budget is %+v, %v", o, err)
		}
		if _, err := w.RunNow(t.Context(), budget.ID, now.Add(24*time.Hour)); !errors.Is(err, schedule.ErrSlot) {
			t.Errorf("a run in the future: %v", err)
		}
	})
}

// TestJobsAreFoundByEitherEnd, and removed with their channel.
func TestJobsAreFoundByEitherEnd(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		j := w.add(schedule.Job{When: "every 1h"})
		w.add(schedule.Job{Channel: "other", Text: "x", When: "every 1h"})
		for _, text := range []string{j.ID, j.ID[:6], j.ID[4:]} {
			if id, err := w.Find(t.Context(), text); err != nil || id != j.ID {
				t.Errorf("%s is %s, %v", text, id, err)
			}
		}
		none := (*shortid.NoMatchError)(nil)
		if _, err := w.Find(t.Context(), "0000000"); !errors.As(err, &none) || none.Found != 0 {
			t.Errorf("an unknown one: %v", err)
		}
		if n, err := w.RemoveOf(t.Context(), "c"); n != 1 || err != nil {
			t.Errorf("%d are removed, %v", n, err)
		}
		if all, err := w.Jobs(t.Context()); len(all) != 1 || all[0].Channel != "other" {
			t.Errorf("left are %+v, %v", all, err)
		}
	})
}

// answering returns a precheck that takes its result from a channel.
func answering(answer <-chan schedule.PrecheckResult) func(context.Context, string) (schedule.PrecheckResult, error) {
	return func(ctx context.Context, _ string) (schedule.PrecheckResult, error) {
		select {
		case r := <-answer:
			return r, nil
		case <-ctx.Done():
			return schedule.PrecheckResult{}, context.Cause(ctx)
		}
	}
}
