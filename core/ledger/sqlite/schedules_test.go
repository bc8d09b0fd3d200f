package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/core/schedule"
	"bareclaw/internal/testkit/check"
)

func job(id, channel string) schedule.Job {
	return schedule.Job{
		ID: id, Channel: core.ChannelKey(channel), Text: "look", When: "cron 0 9 * * *", TZ: "Europe/Berlin", Missed: "within 30m",
		Precheck: "true", Budget: 0.5, SourceKey: "http:k", SourceHash: "h", CreatedAt: day, DecidedTo: day.Add(1),
	}
}

// TestSchedules: jobs and their occurrences are found again by another process, the
// first outcome of an occurrence counts, and of a job that is gone nothing stays.
func TestSchedules(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openAt(t, path)
	one, two := job("one", "c"), job("two", "d")
	check.OK(t, l.AddJob(t.Context(), one))
	check.OK(t, l.AddJob(t.Context(), two))
	if err := l.AddJob(t.Context(), one); err == nil {
		t.Error("a job was added twice")
	}
	at := func(n int) schedule.Occurrence {
		return schedule.Occurrence{
			Job: "one", Due: day.Add(time.Duration(n) * time.Hour), DecidedAt: day.Add(time.Duration(n) * 2 * time.Hour),
			Outcome: schedule.Refused, Status: n, Late: n%2 == 0, Why: fmt.Sprint("why ", n),
		}
	}
	sent := at(2)
	sent.Outcome, sent.Message = schedule.Sent, "m"
	decide(t, l, "one", day.Add(2*time.Hour), time.Time{}, at(1), sent)
	again := at(2)
	decide(t, l, "one", day.Add(2*time.Hour), day.Add(3*time.Hour), again, at(3))
	stranger := at(1)
	stranger.Job = "three"
	decide(t, l, "three", day, time.Time{}, stranger)
	check.OK(t, l.Close())

	l = openAt(t, path)
	one.DecidedTo, one.DoneAt = day.Add(2*time.Hour), day.Add(3*time.Hour)
	all, err := l.Jobs(t.Context())
	check.OK(t, err)
	if want := []schedule.Job{one, two}; !reflect.DeepEqual(all, want) {
		t.Errorf("jobs are %+v\nwant %+v", all, want)
	}
	for _, c := range []struct {
		since time.Time
		limit int
		want  []schedule.Occurrence
	}{
		{time.Time{}, 9, []schedule.Occurrence{at(3), sent, at(1)}}, {time.Time{}, 1, []schedule.Occurrence{at(3)}},
		{sent.Due, 9, []schedule.Occurrence{at(3), sent}},
	} {
		got, err := l.Occurrences(t.Context(), "one", c.since, c.limit)
		check.OK(t, err)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("occurrences are %+v\nwant %+v", got, c.want)
		}
	}
	if got, err := l.Occurrences(t.Context(), "three", time.Time{}, 9); err != nil || len(got) > 0 {
		t.Errorf("of no job: %+v, %v", got, err)
	}
	check.OK(t, l.RemoveJob(t.Context(), "one"))
	if err := l.RemoveJob(t.Context(), "one"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("removed again: %v", err)
	}
	if got, err := l.Occurrences(t.Context(), "one", time.Time{}, 9); err != nil || len(got) > 0 {
		t.Errorf("of a removed job: %+v, %v", got, err)
	}
}

// TestSetBack: what was missed after that is forgotten, nothing else, and a job that was
// done goes on.
func TestSetBack(t *testing.T) {
	t.Parallel()
	l := open(t)
	check.OK(t, l.AddJob(t.Context(), job("one", "c")))
	check.OK(t, l.AddJob(t.Context(), job("two", "c")))
	at := func(n int, o schedule.Outcome) schedule.Occurrence {
		due := day.Add(time.Duration(n) * time.Hour)
		return schedule.Occurrence{Due: due, DecidedAt: due, Outcome: o}
	}
	for _, id := range []string{"one", "two"} {
		decide(t, l, id, day.Add(3*time.Hour), day.Add(3*time.Hour), at(1, schedule.Missed), at(2, schedule.Missed), at(3, schedule.Sent))
	}
	check.OK(t, l.SetBack(t.Context(), "one", day.Add(time.Hour)))
	check.OK(t, l.SetBack(t.Context(), "three", day))
	for id, want := range map[string]int{"one": 2, "two": 3} {
		all, err := l.Occurrences(t.Context(), id, time.Time{}, 9)
		check.OK(t, err)
		j, err := l.Job(t.Context(), id)
		check.OK(t, err)
		if len(all) != want || all[0].Outcome != schedule.Sent || j.DoneAt.IsZero() != (id == "one") || id == "one" && !j.DecidedTo.Equal(day.Add(time.Hour)) {
			t.Errorf("%s is %+v with %+v", id, j, all)
		}
	}
}

// TestForgottenAfterTheClockWasFast: of many occurrences that are still to come, those make
// room for what is decided now that are the farthest away.
func TestForgottenAfterTheClockWasFast(t *testing.T) {
	t.Parallel()
	l := open(t)
	check.OK(t, l.AddJob(t.Context(), job("one", "c")))
	at := func(n int, o schedule.Outcome) schedule.Occurrence {
		due := day.Add(time.Duration(n) * time.Hour)
		return schedule.Occurrence{Due: due, DecidedAt: due, Outcome: o}
	}
	decide(t, l, "one", day.Add(32*time.Hour), time.Time{}, at(30, schedule.Sent), at(31, schedule.Sent), at(32, schedule.Sent))
	check.OK(t, l.SetBack(t.Context(), "one", day))
	decide(t, l, "one", day.Add(time.Hour), time.Time{}, at(1, schedule.Refused))
	decide(t, l, "one", day.Add(2*time.Hour), time.Time{}, at(2, schedule.Skipped))
	all, err := l.Occurrences(t.Context(), "one", time.Time{}, 9)
	check.OK(t, err)
	var got []int
	for _, o := range all {
		got = append(got, int(o.Due.Sub(day).Hours()))
	}
	if !reflect.DeepEqual(got, []int{30, 2, 1}) {
		t.Errorf("on record are %v", got)
	}
}

func decide(t *testing.T, l *sqlite.Ledger, job string, to, done time.Time, all ...schedule.Occurrence) {
	t.Helper()
	check.OK(t, l.Decide(t.Context(), schedule.Decision{Job: job, Occurrences: all, DecidedTo: to, DoneAt: done}, 3))
}

// TestOccurrencesAreForgotten when there are many, or when they are old, with the jobs
// that were done long ago.
func TestOccurrencesAreForgotten(t *testing.T) {
	t.Parallel()
	l := open(t)
	check.OK(t, l.AddJob(t.Context(), job("one", "c")))
	check.OK(t, l.AddJob(t.Context(), job("two", "c")))
	var all []schedule.Occurrence
	for n := range 5 {
		due := day.Add(time.Duration(n) * time.Hour)
		all = append(all, schedule.Occurrence{Due: due, DecidedAt: due, Outcome: schedule.Missed})
	}
	decide(t, l, "one", all[4].Due, time.Time{}, all...)
	decide(t, l, "two", day, day.Add(time.Hour), all[3:]...)
	count := func(job string, want int) {
		t.Helper()
		got, err := l.Occurrences(t.Context(), job, time.Time{}, 9)
		check.OK(t, err)
		if len(got) != want || want > 0 && !got[0].Due.Equal(all[4].Due) {
			t.Errorf("of %s there are %+v", job, got)
		}
	}
	count("one", 3)
	check.OK(t, l.Prune(t.Context(), all[3].DecidedAt, day))
	count("one", 2)
	count("two", 2)
	check.OK(t, l.Prune(t.Context(), day, day.Add(2*time.Hour)))
	count("one", 2)
	count("two", 0)
	if _, err := l.Job(t.Context(), "two"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a job that was done long ago: %v", err)
	}
}

// TestSourceMessages finds what a job has sent, and what that has cost.
func TestSourceMessages(t *testing.T) {
	t.Parallel()
	l := open(t)
	for i, key := range []string{"schedule:a:1", "schedule:a:2", "schedule:ab:1", "schedule:a", ""} {
		m := message("c")
		m.SourceKey = key
		turn := turnOf(m)
		mustWrite(t, l, accepted(m, turn))
		turn.EndedAt = day
		mustWrite(t, l, core.Change{End: []*core.Turn{turn}, Settle: []core.Settlement{{
			ID: m.ID, EndedAt: day.Add(time.Duration(i) * time.Hour), Reply: core.Reply{State: core.Answered, CostUSD: float64(i + 1)},
		}}})
		if key == "" {
			continue
		}
		if id, err := l.SourceMessage(t.Context(), key); err != nil || id != m.ID {
			t.Errorf("%s is of %s, %v", key, id, err)
		}
	}
	if _, err := l.SourceMessage(t.Context(), "schedule:a:3"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("an unknown key: %v", err)
	}
	for since, want := range map[time.Duration]float64{0: 3, time.Hour: 2, 2 * time.Hour: 0} {
		if usd, err := l.SourceCost(t.Context(), schedule.SourcePrefix("a"), day.Add(since)); err != nil || usd != want {
			t.Errorf("since %s: $%v, %v, want $%v", since, usd, err, want)
		}
	}
}
