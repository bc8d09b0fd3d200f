package ledgertest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/internal/testkit/check"
)

func job(id, channel string) schedule.Job {
	return schedule.Job{
		ID:         id,
		Channel:    core.ChannelKey(channel),
		Text:       "look",
		When:       "cron 0 9 * * *",
		TZ:         "Europe/Berlin",
		Missed:     "within 30m",
		Precheck:   "true",
		Budget:     0.5,
		SourceKey:  "http:k",
		SourceHash: "h",
		CreatedAt:  Day,
		DecidedTo:  Day.Add(1),
	}
}

// testSchedules: jobs and their occurrences are found again by another process, the
// first outcome of an occurrence counts, and of a job that is gone nothing stays.
func testSchedules(t *testing.T, s Subject) {
	dir := t.TempDir()
	l := s.openIn(t, dir)
	one := job("one", "c")
	two := job("two", "d")
	check.OK(t, l.AddJob(t.Context(), one))
	check.OK(t, l.AddJob(t.Context(), two))
	if err := l.AddJob(t.Context(), one); err == nil {
		t.Error("a job was added twice")
	}
	at := func(n int) schedule.Occurrence {
		return schedule.Occurrence{
			Job:       "one",
			Due:       Day.Add(time.Duration(n) * time.Hour),
			DecidedAt: Day.Add(time.Duration(n) * 2 * time.Hour),
			Outcome:   schedule.Refused,
			Status:    n,
			Late:      n%2 == 0,
			Why:       fmt.Sprint("why ", n),
		}
	}
	sent := at(2)
	sent.Outcome = schedule.Sent
	sent.Message = "m"
	decide(t, l, "one", Day.Add(2*time.Hour), time.Time{}, at(1), sent)
	again := at(2)
	decide(t, l, "one", Day.Add(2*time.Hour), Day.Add(3*time.Hour), again, at(3))
	stranger := at(1)
	stranger.Job = "three"
	decide(t, l, "three", Day, time.Time{}, stranger)
	check.OK(t, l.Close())

	l = s.openIn(t, dir)
	one.DecidedTo = Day.Add(2 * time.Hour)
	one.DoneAt = Day.Add(3 * time.Hour)
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
		{time.Time{}, 9, []schedule.Occurrence{at(3), sent, at(1)}},
		{time.Time{}, 1, []schedule.Occurrence{at(3)}},
		{sent.Due, 9, []schedule.Occurrence{at(3), sent}},
	} {
		got, err := l.Occurrences(t.Context(), "one", c.since, c.limit)
		wantRead(t, "occurrences", got, err, c.want)
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

// testSetBack: what was missed after that is forgotten, nothing else, and a job that was
// done goes on.
func testSetBack(t *testing.T, s Subject) {
	l := s.open(t)
	check.OK(t, l.AddJob(t.Context(), job("one", "c")))
	check.OK(t, l.AddJob(t.Context(), job("two", "c")))
	at := func(n int, o schedule.Outcome) schedule.Occurrence {
		due := Day.Add(time.Duration(n) * time.Hour)
		return schedule.Occurrence{Due: due, DecidedAt: due, Outcome: o}
	}
	for _, id := range []string{"one", "two"} {
		decide(t, l, id, Day.Add(3*time.Hour), Day.Add(3*time.Hour), at(1, schedule.Missed), at(2, schedule.Missed), at(3, schedule.Sent))
	}
	check.OK(t, l.SetBack(t.Context(), "one", Day.Add(time.Hour)))
	check.OK(t, l.SetBack(t.Context(), "three", Day))
	one := job("one", "c")
	one.DecidedTo = Day.Add(time.Hour)
	two := job("two", "c")
	two.DecidedTo = Day.Add(3 * time.Hour)
	two.DoneAt = Day.Add(3 * time.Hour)
	for _, want := range []schedule.Job{one, two} {
		got, err := l.Job(t.Context(), want.ID)
		wantRead(t, "job", got, err, want)
	}
	for id, want := range map[string]int{"one": 2, "two": 3} {
		all, err := l.Occurrences(t.Context(), id, time.Time{}, 9)
		check.OK(t, err)
		if len(all) != want || all[0].Outcome != schedule.Sent {
			t.Errorf("of %s there are %+v", id, all)
		}
	}
}

// testForgottenAfterTheClockWasFast: of many occurrences that are still to come, those make
// room for what is decided now that are the farthest away.
func testForgottenAfterTheClockWasFast(t *testing.T, s Subject) {
	l := s.open(t)
	check.OK(t, l.AddJob(t.Context(), job("one", "c")))
	at := func(n int, o schedule.Outcome) schedule.Occurrence {
		due := Day.Add(time.Duration(n) * time.Hour)
		return schedule.Occurrence{Due: due, DecidedAt: due, Outcome: o}
	}
	decide(t, l, "one", Day.Add(32*time.Hour), time.Time{}, at(30, schedule.Sent), at(31, schedule.Sent), at(32, schedule.Sent))
	check.OK(t, l.SetBack(t.Context(), "one", Day))
	decide(t, l, "one", Day.Add(time.Hour), time.Time{}, at(1, schedule.Refused))
	decide(t, l, "one", Day.Add(2*time.Hour), time.Time{}, at(2, schedule.Skipped))
	all, err := l.Occurrences(t.Context(), "one", time.Time{}, 9)
	check.OK(t, err)
	var got []int
	for _, o := range all {
		got = append(got, int(o.Due.Sub(Day).Hours()))
	}
	if !reflect.DeepEqual(got, []int{30, 2, 1}) {
		t.Errorf("on record are %v", got)
	}
}

func decide(t *testing.T, l Ledger, job string, to, done time.Time, all ...schedule.Occurrence) {
	t.Helper()
	check.OK(t, l.Decide(t.Context(), schedule.Decision{
		Job:         job,
		Occurrences: all,
		DecidedTo:   to,
		DoneAt:      done,
	}, 3))
}

// testOccurrencesAreForgotten when there are many, or when they are old, with the jobs
// that were done long ago.
func testOccurrencesAreForgotten(t *testing.T, s Subject) {
	l := s.open(t)
	check.OK(t, l.AddJob(t.Context(), job("one", "c")))
	check.OK(t, l.AddJob(t.Context(), job("two", "c")))
	var all []schedule.Occurrence
	for n := range 5 {
		due := Day.Add(time.Duration(n) * time.Hour)
		all = append(all, schedule.Occurrence{Due: due, DecidedAt: due, Outcome: schedule.Missed})
	}
	decide(t, l, "one", all[4].Due, time.Time{}, all...)
	decide(t, l, "two", Day, Day.Add(time.Hour), all[3:]...)
	count := func(job string, want int) {
		t.Helper()
		got, err := l.Occurrences(t.Context(), job, time.Time{}, 9)
		check.OK(t, err)
		if len(got) != want || want > 0 && !got[0].Due.Equal(all[4].Due) {
			t.Errorf("of %s there are %+v", job, got)
		}
	}
	count("one", 3)
	check.OK(t, l.Prune(t.Context(), all[3].DecidedAt, Day))
	count("one", 2)
	count("two", 2)
	check.OK(t, l.Prune(t.Context(), Day, Day.Add(2*time.Hour)))
	count("one", 2)
	count("two", 0)
	if _, err := l.Job(t.Context(), "two"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a job that was done long ago: %v", err)
	}
}

// testSourceMessages finds what a job has sent, and what that has cost.
func testSourceMessages(t *testing.T, s Subject) {
	l := s.open(t)
	for i, key := range []string{"schedule:a:1", "schedule:a:2", "schedule:ab:1", "schedule:a", ""} {
		m := Message("c")
		m.SourceKey = key
		turn := TurnOf(m)
		MustWrite(t, l, Accepted(m, turn))
		turn.EndedAt = Day
		MustWrite(t, l, core.Change{
			End: []*core.Turn{turn},
			Settle: []core.Settlement{{
				ID:      m.ID,
				EndedAt: Day.Add(time.Duration(i) * time.Hour),
				Reply:   core.Reply{State: core.Answered, CostUSD: float64(i + 1)},
			}},
		})
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
		if usd, err := l.SourceCost(t.Context(), schedule.SourcePrefix("a"), Day.Add(since)); err != nil || usd != want {
			t.Errorf("since %s: $%v, %v, want $%v", since, usd, err, want)
		}
	}
}

// A job that is changed keeps what is on record of its due times, and one that was removed stays
// removed.
func testReplaceJob(t *testing.T, s Subject) {
	l := s.open(t)
	j := job("one", "c")
	check.OK(t, l.AddJob(t.Context(), j))
	due := Day.Add(time.Hour)
	decide(t, l, "one", due, time.Time{}, schedule.Occurrence{Due: due, DecidedAt: due, Outcome: schedule.Missed})
	j.Text = "look again"
	j.DecidedTo = Day.Add(2 * time.Hour)
	check.OK(t, l.ReplaceJob(t.Context(), j))
	got, err := l.Job(t.Context(), "one")
	wantRead(t, "job", got, err, j)
	if all, err := l.Occurrences(t.Context(), "one", time.Time{}, 9); err != nil || len(all) != 1 {
		t.Errorf("occurrences are %+v, %v", all, err)
	}
	check.OK(t, l.RemoveJob(t.Context(), "one"))
	check.OK(t, l.ReplaceJob(t.Context(), j))
	if _, err := l.Job(t.Context(), "one"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("removed job: error = %v, want ErrNotFound", err)
	}
}

// Runs of a built-in job, which is no row, replace what is on record of them; the oldest make room.
func testPutOccurrences(t *testing.T, s Subject) {
	l := s.open(t)
	run := func(n int, o schedule.Outcome) schedule.Occurrence {
		due := Day.Add(time.Duration(n) * time.Hour)
		return schedule.Occurrence{
			Job:       "built-in",
			Due:       due,
			DecidedAt: due,
			Outcome:   o,
		}
	}
	check.OK(t, l.PutOccurrences(t.Context(), "built-in", []schedule.Occurrence{run(1, schedule.Due), run(2, schedule.Due)}, 2))
	check.OK(t, l.PutOccurrences(t.Context(), "built-in", []schedule.Occurrence{run(2, schedule.Sent), run(3, schedule.Due)}, 2))
	all, err := l.Occurrences(t.Context(), "built-in", time.Time{}, 9)
	check.OK(t, err)
	if want := []schedule.Occurrence{run(3, schedule.Due), run(2, schedule.Sent)}; !reflect.DeepEqual(all, want) {
		t.Errorf("runs are %+v\nwant %+v", all, want)
	}
}
