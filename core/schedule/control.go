package schedule

import (
	"context"
	"errors"
	"slices"
	"time"

	"bareclaw/core"
	"bareclaw/internal/shortid"
	"bareclaw/internal/zone"
)

// ErrOver reports that no due time of the job follows: it cannot be paused or resumed.
var ErrOver = errors.New("no due time follows")

// Find returns the id of the job or built-in job that text stands for: an id, or the beginning or
// the end of one. The error for no id, or several, is a [*shortid.NoMatchError].
func (s *Scheduler) Find(ctx context.Context, text string) (string, error) {
	if _, ok := s.runners[text]; ok {
		return text, nil
	}
	all, err := s.o.Store.Jobs(ctx)
	if err != nil {
		return "", err
	}
	j, err := shortid.Find(all, func(j *Job) string { return j.ID }, "schedule", text)
	if err != nil {
		return "", err
	}
	return j.ID, nil
}

// Zone returns the name of the zone of jobs without a zone of their own.
func (s *Scheduler) Zone() string { return zone.Name(s.o.Zone, s.now()) }

// IsBuiltIn reports whether an id is that of a built-in job.
func (s *Scheduler) IsBuiltIn(id string) bool { return s.runners[id] != nil }

// Pause keeps a job from sending anything until Resume. Pausing a paused job changes nothing. Errors:
// core.ErrNotFound, also for a built-in job, and ErrOver.
func (s *Scheduler) Pause(ctx context.Context, id string) (Job, error) {
	return s.setPaused(ctx, id, true)
}

// Resume lets a paused job send again, at the due times that follow: those that passed during the
// pause have no outcome. Resuming a job that is not paused changes nothing. Errors: core.ErrNotFound,
// also for a built-in job, and ErrOver, also for a job whose last due time passed during the pause.
func (s *Scheduler) Resume(ctx context.Context, id string) (Job, error) {
	return s.setPaused(ctx, id, false)
}

func (s *Scheduler) setPaused(ctx context.Context, id string, paused bool) (Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.o.Store.Job(ctx, id)
	if err != nil || j.Paused == paused {
		return j, err
	}
	t, err := timesOf(&j, s.o.Zone)
	if err != nil {
		return Job{}, err
	}
	now := s.now()
	if !j.DoneAt.IsZero() || t.next(now).IsZero() {
		return Job{}, ErrOver
	}
	if j.Paused = paused; !paused {
		j.DecidedTo = now
	}
	defer s.wake.Send()
	return j, s.o.Store.ReplaceJob(ctx, j)
}

// RemoveOf deletes the jobs of a channel with their occurrences, and returns how many there were.
func (s *Scheduler) RemoveOf(ctx context.Context, key core.ChannelKey) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.o.Store.Jobs(ctx)
	for i := range all {
		if err == nil && all[i].Channel == key {
			err = s.o.Store.RemoveJob(ctx, all[i].ID)
			n++
		}
	}
	return n, err
}

// RunNow sends the text of a job for an extra due time, whatever its times are: a single moment that
// is still to come stays to come. The precheck is left out; the budget counts. RunNow for the same due
// time sends once. The due time is at most maxAhead in the future. Errors: core.ErrNotFound, also for
// a built-in job, ErrSlot, and the errors of the ledger.
func (s *Scheduler) RunNow(ctx context.Context, id string, due time.Time) (Occurrence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.o.Store.Job(ctx, id)
	if err != nil {
		return Occurrence{}, err
	}
	t, err := timesOf(&j, s.o.Zone)
	if err != nil {
		return Occurrence{}, err
	}
	due = due.UTC().Truncate(time.Second)
	if due.After(s.now().Add(maxAhead)) {
		return Occurrence{}, ErrSlot
	}
	known, err := s.o.Store.Occurrences(ctx, id, due, Kept)
	if err != nil {
		return Occurrence{}, err
	}
	if i := slices.IndexFunc(known, func(o Occurrence) bool { return o.Due.Equal(due) }); i >= 0 {
		return known[i], nil
	}
	d := decision{job: j, times: t, due: []Occurrence{{Job: id, Due: due, Outcome: Sent, ByHand: true}}}
	o := &d.due[0]
	if err := s.send(ctx, &d, o); err != nil {
		return Occurrence{}, err
	}
	o.DecidedAt = s.now()
	if err := s.o.Store.PutOccurrences(ctx, id, d.due, Kept); err != nil {
		return Occurrence{}, err
	}
	s.report(id, j.Channel, d.due)
	return *o, nil
}
