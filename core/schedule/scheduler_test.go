package schedule_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/internal/testkit/check"
)

// TestHundredDays runs a job of each working day beyond a clock change: it is sent when
// clocks there say so, each time once, and the oldest occurrences are forgotten.
func TestHundredDays(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	check.OK(t, err)
	play(t, schedule.Options{Zone: berlin}, func(t *testing.T, w *world) {
		j := w.add(schedule.Job{When: "0 9 * * 1-5"})
		began := time.Now()
		for d := range 101 { // the machine only wakes up shortly before nine, in winter or summer time
			for _, at := range []time.Duration{6*time.Hour + 58*time.Minute, 7*time.Hour + 58*time.Minute} {
				w.jump.Store(int64(time.Until(began.AddDate(0, 0, d).Add(at))))
				w.after(3 * time.Minute)
			}
		}
		if n := len(w.memory.sent()); n != 71 {
			t.Errorf("%d messages in a hundred days", n)
		}
		keys := map[string]bool{}
		for _, s := range w.memory.sent() {
			keys[s.SourceKey] = true
			if !strings.Contains(s.Content.Text, " 09:00 CE") || s.Adapter != "schedule" || s.Deliver {
				t.Fatalf("sent %+v", s)
			}
		}
		if len(keys) != len(w.memory.sent()) {
			t.Errorf("%d keys of %d messages", len(keys), len(w.memory.sent()))
		}
		_, all, _ := w.Job(t.Context(), j.ID)
		if len(all) < 20 || len(all) > 23 || all[0].Outcome != schedule.Sent || !all[0].DecidedAt.Equal(all[0].Due) {
			t.Errorf("%d occurrences, the newest is %+v", len(all), all[0])
		}
	})
}

// TestSleep: the machine sleeps over due times, which timers do not notice. Within a
// minute it is seen what was missed.
func TestSleep(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		skip := w.add(schedule.Job{When: "every 1h"})
		once := w.add(schedule.Job{When: "every 1h", Missed: "once"})
		soon := w.add(schedule.Job{When: "in 3h10m30s", Missed: "skip"})
		w.after(10 * time.Second)
		w.jump.Store(int64(3*time.Hour + 10*time.Minute))
		w.after(time.Minute)
		w.wants(skip, schedule.Missed, schedule.Missed, schedule.Missed)
		all := w.wants(once, schedule.Sent, schedule.Missed, schedule.Missed)
		if !all[0].Late || all[1].Why == "" {
			t.Errorf("%+v", all)
		}
		if text := w.memory.sent()[0].Content.Text; !strings.HasPrefix(text, "[schedule: "+once.ID+", due 2000-01-01 03:00 UTC, sent late at 2000-01-01 03:11 UTC]\nlook") {
			t.Errorf("sent %q", text)
		}
		w.wants(soon, schedule.Sent)
		if j, _, _ := w.Job(t.Context(), soon.ID); j.DoneAt.IsZero() || len(w.Next(&j)) > 0 {
			t.Errorf("it is %+v", j)
		}
		w.after(time.Hour)
		w.wants(skip, schedule.Sent, schedule.Missed, schedule.Missed, schedule.Missed)
		w.after(8 * 24 * time.Hour)
		if _, _, err := w.Job(t.Context(), soon.ID); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("what was done a week ago: %v", err)
		}
	})
}

// TestClockIsSetBack: what comes again is not sent again, and what is new is.
func TestClockIsSetBack(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		j := w.add(schedule.Job{When: "*/10 * * * *"})
		w.after(65 * time.Minute)
		if n := len(w.memory.sent()); n != 6 {
			t.Fatalf("%d messages", n)
		}
		w.jump.Store(int64(-30 * time.Minute))
		w.after(29 * time.Minute)
		if n := len(w.memory.sent()); n != 6 {
			t.Errorf("%d messages when it comes again", n)
		}
		w.after(6 * time.Minute)
		if n := len(w.memory.sent()); n != 7 {
			t.Errorf("%d messages after that", n)
		}
		w.wants(j, schedule.Sent, schedule.Sent, schedule.Sent, schedule.Sent, schedule.Sent, schedule.Sent, schedule.Sent)
		w.jump.Store(int64(365 * 24 * time.Hour)) // and forward, by a mistake that is noticed
		w.after(2 * time.Minute)
		w.jump.Store(int64(0))
		w.after(32 * time.Minute)
		if n := len(w.memory.sent()); n < 9 || n > 11 {
			t.Errorf("%d messages after a mistake", n)
		}
	})
}

// TestClockWasWrong: what seemed to be missed while the clock was fast is sent at its time,
// and nothing twice.
func TestClockWasWrong(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		hourly := w.add(schedule.Job{When: "every 1h"})
		single := w.add(schedule.Job{When: "in 90m", Missed: "skip"})
		w.after(time.Second)
		w.jump.Store(int64(5*time.Hour + 30*time.Minute))
		w.after(2 * time.Minute)
		w.wants(hourly, schedule.Missed, schedule.Missed, schedule.Missed, schedule.Missed, schedule.Missed)
		w.wants(single, schedule.Missed)
		w.jump.Store(0)
		w.after(2 * time.Minute)
		w.wants(hourly)
		w.wants(single)
		w.after(2 * time.Hour)
		w.wants(hourly, schedule.Sent, schedule.Sent)
		w.wants(single, schedule.Sent)
		if j, _, err := w.Job(t.Context(), single.ID); err != nil || j.DoneAt.IsZero() {
			t.Errorf("it is %+v, %v", j, err)
		}
		if s := w.Stats(); s.Sent != 3 || s.Missed != 6 {
			t.Errorf("counted %+v", s)
		}
		w.jump.Store(int64(-70 * time.Minute)) // what has been sent comes again
		w.after(80 * time.Minute)
		w.wants(hourly, schedule.Sent, schedule.Sent)
		w.wants(single, schedule.Sent)
		if s := w.Stats(); s.Sent != 3 || s.Missed != 6 {
			t.Errorf("counted %+v when it came again", s)
		}
	})
}

// TestSentWhileTheClockWasFast: what was sent too early, since the clock said that it was
// due, is not sent at its time again, whatever its rule; the others are.
func TestSentWhileTheClockWasFast(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		hourly := w.add(schedule.Job{When: "every 1h", Missed: "once"})
		single := w.add(schedule.Job{When: "in 90m"}) // whose rule is once
		w.after(time.Second)
		w.jump.Store(int64(5*time.Hour + 30*time.Minute))
		w.after(2 * time.Minute)
		w.wants(hourly, schedule.Sent, schedule.Missed, schedule.Missed, schedule.Missed, schedule.Missed) // the newest one comes first
		w.wants(single, schedule.Sent)
		w.jump.Store(0)
		w.after(2 * time.Minute)
		w.wants(hourly, schedule.Sent)
		w.wants(single, schedule.Sent)
		w.after(5*time.Hour + 30*time.Minute)
		w.wants(hourly, schedule.Sent, schedule.Sent, schedule.Sent, schedule.Sent, schedule.Sent)
		w.wants(single, schedule.Sent)
		if s := w.Stats(); s.Sent != 6 {
			t.Errorf("counted %+v", s)
		}
	})
}

// TestClockIsNotSet: a machine that has no time yet decides nothing, and then it is as if
// it had started late.
func TestClockIsNotSet(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		j := w.add(schedule.Job{When: "every 1h"})
		w.after(2*time.Hour + 10*time.Minute)
		w.wants(j, schedule.Sent, schedule.Sent)
		w.jump.Store(int64(-30 * 366 * 24 * time.Hour))
		w.end() // it starts anew
		w.start(schedule.Options{})
		w.after(3 * time.Minute)
		w.jump.Store(int64(0))
		w.after(time.Hour)
		w.wants(j, schedule.Sent, schedule.Sent, schedule.Sent)
		if s := w.Stats(); s.Missed != 0 {
			t.Errorf("counted %+v", s)
		}
	})
}

// TestMadeWhenTheClockWasFast: the clock is mended, and the job does not wait for the time
// at which it was made to come again.
func TestMadeWhenTheClockWasFast(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		w.jump.Store(int64(50 * 366 * 24 * time.Hour))
		every, cron := w.add(schedule.Job{When: "every 1h"}), w.add(schedule.Job{When: "@hourly"})
		w.jump.Store(int64(0))
		w.after(2*time.Hour + 10*time.Minute)
		w.wants(every, schedule.Sent, schedule.Sent)
		w.wants(cron, schedule.Sent, schedule.Sent)
	})
}

// TestKilledBeforeItIsRecorded: what was sent by then is found, however late.
func TestKilledBeforeItIsRecorded(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{time.Second, 5 * time.Hour} {
		play(t, schedule.Options{}, func(t *testing.T, w *world) {
			j := w.add(schedule.Job{When: "in 1m", Missed: "skip"})
			w.memory.set(func(m *memory) { m.lost = 1 })
			w.after(61 * time.Second)
			w.end()
			time.Sleep(later)
			w.start(schedule.Options{})
			if all := w.wants(j, schedule.Sent); len(all) == 1 && all[0].Message != "m0" {
				t.Errorf("%+v", all)
			}
			if n := len(w.memory.sent()); n != 1 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

// TestPrechecks: one that takes its time keeps no other job waiting, and one whose job is
// removed meanwhile sends nothing.
func TestPrechecks(t *testing.T) {
	t.Parallel()
	precheck := func(ctx context.Context, line string) (r schedule.PrecheckResult, err error) {
		switch line {
		case "slow":
			select {
			case <-time.After(30 * time.Second):
			case <-ctx.Done():
				return r, ctx.Err()
			}
			return r, nil
		case "broken":
			return r, errors.New("no shell")
		}
		return schedule.PrecheckResult{Status: len(line), Said: "printed"}, nil
	}
	play(t, schedule.Options{Precheck: precheck}, func(t *testing.T, w *world) {
		slow := w.add(schedule.Job{When: "in 1m", Precheck: "slow"})
		removed := w.add(schedule.Job{When: "in 1m", Precheck: "slow"})
		other := w.add(schedule.Job{When: "in 61s"})
		nothing := w.add(schedule.Job{When: "every 1m", Precheck: "x"})
		broken := w.add(schedule.Job{When: "in 1m", Precheck: "broken"})
		w.after(70 * time.Second)
		w.wants(slow)
		w.wants(other, schedule.Sent)
		if all := w.wants(nothing, schedule.Skipped); all[0].Status != 1 || !strings.HasSuffix(all[0].Why, "printed") {
			t.Errorf("%+v", all)
		}
		if all := w.wants(broken, schedule.Refused); !strings.Contains(all[0].Why, "no shell") {
			t.Errorf("%+v", all)
		}
		if err := w.Remove(t.Context(), removed.ID); err != nil {
			t.Error(err)
		}
		w.after(30 * time.Second)
		w.wants(slow, schedule.Sent)
		if n := len(w.memory.sent()); n != 2 {
			t.Errorf("%d messages", n)
		}
		again := w.add(schedule.Job{When: "in 10s", Precheck: "slow"})
		w.after(15 * time.Second)
		w.end() // in the middle of it
		w.start(schedule.Options{Precheck: precheck})
		w.after(31 * time.Second)
		w.wants(again, schedule.Sent)
	})
}

// TestStorageFails: what cannot be written is tried again, and nothing is sent twice.
func TestStorageFails(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		j := w.add(schedule.Job{When: "in 1m"})
		synctest.Wait()
		w.memory.set(func(m *memory) { m.err = core.ErrStorageFull })
		w.after(90 * time.Second)
		w.memory.set(func(m *memory) { m.err = nil })
		w.after(6 * time.Second)
		if all := w.wants(j, schedule.Sent); all[0].Late {
			t.Errorf("%+v", all)
		}
	})
}

// TestRefused: what will not be taken is not tried again.
func TestRefused(t *testing.T) {
	t.Parallel()
	var strangers sync.Map
	strangers.Store(core.ChannelKey("tg-8"), true)
	admit := func(_ context.Context, key core.ChannelKey) error {
		if _, ok := strangers.Load(key); ok {
			return errors.New("a stranger")
		}
		return nil
	}
	play(t, schedule.Options{Admit: admit}, func(t *testing.T, w *world) {
		if _, _, err := w.Add(t.Context(), schedule.Job{Channel: "tg-8", Text: "a", When: "in 1h"}); err == nil || !strings.Contains(err.Error(), "stranger") {
			t.Errorf("a stranger: %v", err)
		}
		w.memory.set(func(m *memory) { m.cost, m.refuse = 0.3, core.ErrQueueFull })
		full := w.add(schedule.Job{When: "in 1m"})
		w.after(61 * time.Second)
		w.memory.set(func(m *memory) { m.refuse = nil })
		if all := w.wants(full, schedule.Refused); !strings.Contains(all[0].Why, "BARECLAW_QUEUE_LIMIT") {
			t.Errorf("%+v", all)
		}
		dear := w.add(schedule.Job{Channel: "tg-7", Text: "/compact", When: "every 1m", Budget: 0.5})
		w.after(3*time.Minute + time.Second)
		if all := w.wants(dear, schedule.Refused, schedule.Sent, schedule.Sent); !strings.Contains(all[0].Why, "$0.50 a day is used up ($0.60 spent today)") {
			t.Errorf("%+v", all)
		}
		s := w.memory.sent()[0]
		if s.Adapter != "telegram" || !s.Deliver || !s.CanAsk || s.Content.Text != "/compact" {
			t.Errorf("sent %+v", s)
		}
		strangers.Store(core.ChannelKey("tg-7"), true) // as after BARECLAW_ALLOWED_USERS was changed
		w.after(time.Minute)
		if all := w.wants(dear, schedule.Refused, schedule.Refused, schedule.Sent, schedule.Sent); all[0].Why != "a stranger" {
			t.Errorf("%+v", all)
		}
	})
}

// TestSameRequest: a key makes one job, and what is wrong with a request is said.
func TestSameRequest(t *testing.T) {
	t.Parallel()
	play(t, schedule.Options{}, func(t *testing.T, w *world) {
		r := schedule.Job{Channel: "c", Text: "look", When: "in 1h", SourceKey: "k", SourceHash: "h"}
		first := w.add(r)
		if again, existing, err := w.Add(t.Context(), r); err != nil || !existing || again.ID != first.ID {
			t.Errorf("again: %+v, %v, %v", again, existing, err)
		}
		r.SourceHash = "other"
		if _, _, err := w.Add(t.Context(), r); !errors.Is(err, core.ErrKeyReused) {
			t.Errorf("with another text: %v", err)
		}
		for field, r := range map[string]schedule.Job{
			"tz": {When: "in 1h", TZ: "Mars"}, "when": {}, "missed": {When: "in 1h", Missed: "x"}, "budget": {When: "in 1h", Budget: -1},
			"text":     {When: "in 1h", Text: strings.Repeat("x", schedule.MaxTextBytes+1)},
			"precheck": {When: "in 1h", Precheck: "a\x00b"},
		} {
			_, _, err := w.Add(t.Context(), r)
			if wrong := (*schedule.InvalidError)(nil); !errors.As(err, &wrong) || wrong.Field != field || wrong.Text == "" {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
}
