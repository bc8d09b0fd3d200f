package schedule

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
)

// shown is the number of due times that Next returns.
const shown = 3

// Add stores a new job and returns the job once durable. Add sets the id and the times of
// the job. Empty fields have defaults: TZ the gateway's zone, Missed "once" for a single
// moment and "skip" otherwise. existing reports an earlier job with the same source key,
// which makes the request idempotent, as in core.Submission. Errors: *InvalidError,
// ErrTooMany, core.ErrKeyReused, the errors of Options.Admit, and those of the ledger.
func (s *Scheduler) Add(ctx context.Context, j Job) (added Job, existing bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.o.Store.Jobs(ctx)
	if err != nil {
		return Job{}, false, err
	}
	if i := slices.IndexFunc(all, func(old Job) bool { return j.SourceKey != "" && old.SourceKey == j.SourceKey }); i >= 0 {
		if all[i].SourceHash != j.SourceHash {
			return Job{}, false, fmt.Errorf("%w: it belongs to schedule %s", core.ErrKeyReused, all[i].ID)
		}
		return all[i], true, nil
	}
	if err := s.complete(&j); err != nil {
		return Job{}, false, err
	}
	if err := s.o.Admit(ctx, j.Channel); err != nil {
		return Job{}, false, err
	}
	if active(all) >= MaxJobs {
		return Job{}, false, ErrTooMany
	}
	defer s.wake.Send() // also after an error: the store may keep the job after ctx has ended
	return j, false, s.o.Store.AddJob(ctx, j)
}

func active(all []Job) (n int) {
	for i := range all {
		if all[i].DoneAt.IsZero() {
			n++
		}
	}
	return n
}

// complete checks a requested job, and sets all other fields.
func (s *Scheduler) complete(j *Job) error {
	now := s.now()
	zone, err := zoneOf(j.TZ, s.o.Zone)
	if err != nil {
		return err
	}
	when, err := ParseWhen(j.When, now, zone)
	if err != nil {
		return err
	}
	if j.Missed == "" {
		j.Missed = "skip"
		if !when.At.IsZero() {
			j.Missed = "once"
		}
	}
	if _, err := parseMissed(j.Missed); err != nil {
		return err
	}
	switch {
	case len(j.Text) > MaxTextBytes:
		return invalid("text", "The text of a schedule is at most %d bytes, and this one has %d. Write the text to a file, and name the file in the schedule.", MaxTextBytes, len(j.Text))
	case len(j.Precheck) > MaxPrecheckBytes || strings.ContainsRune(j.Precheck, 0):
		return invalid("precheck", "A precheck is a command line of at most %d bytes.", MaxPrecheckBytes)
	case j.Budget < 0 || math.IsNaN(j.Budget) || math.IsInf(j.Budget, 0):
		return invalid("budget", "A budget is a number of USD a day, 0 for any amount.")
	}
	j.ID, j.When, j.CreatedAt, j.DecidedTo = strings.ToLower(rand.Text()[:10]), when.String(), now, now
	return nil
}

// Next returns the next due times of a job, at most three; none of a paused job.
func (s *Scheduler) Next(j *Job) []time.Time {
	t, err := timesOf(j, s.o.Zone)
	if err != nil || !j.DoneAt.IsZero() || j.Paused {
		return nil
	}
	return t.upcoming(s.now(), shown)
}

// Jobs returns all jobs, oldest first, including jobs done in the last week.
func (s *Scheduler) Jobs(ctx context.Context) ([]Job, error) { return s.o.Store.Jobs(ctx) }

// Job returns a job or built-in job with its newest occurrences, newest first. The error
// is core.ErrNotFound for an unknown id.
func (s *Scheduler) Job(ctx context.Context, id string) (j Job, all []Occurrence, err error) {
	if r, ok := s.runners[id]; ok {
		j = r.asJob()
	} else if j, err = s.o.Store.Job(ctx, id); err != nil {
		return Job{}, nil, err
	}
	all, err = s.o.Store.Occurrences(ctx, id, time.Time{}, Kept)
	return j, all, err
}

// Remove deletes a job and its occurrences, or returns core.ErrNotFound. After the
// return nothing more is sent for the job; messages sent before continue.
func (s *Scheduler) Remove(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.o.Store.RemoveJob(ctx, id)
}

// Trigger runs a built-in job for the slot that begins at due, unless the slot has run
// already, and retries pending pushes. Trigger returns the occurrence once the run and
// the pushes are over, the message waits on a parked channel, or ctx ends. While another
// slot's message has no outcome, the occurrence is skipped; a skipped slot may be
// triggered again. Errors: core.ErrNotFound, ErrSlot, and the errors of the ledger.
func (s *Scheduler) Trigger(ctx context.Context, id string, due time.Time) (Occurrence, error) {
	r, ok := s.runners[id]
	if !ok {
		return Occurrence{}, core.ErrNotFound
	}
	due = due.UTC().Truncate(time.Second)
	if due.After(s.now().Add(maxAhead)) {
		return Occurrence{}, ErrSlot
	}
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout) // ctx bounds only the caller's wait
	defer cancel()
	over, err := r.request(lasting, due)
	if err != nil {
		return Occurrence{}, err
	}
	if over != nil {
		select {
		case <-over:
		case <-ctx.Done():
		}
	}
	return r.occurrence(lasting, due)
}

// Stats counts outcomes since the start of the process.
type Stats struct{ Sent, Skipped, Missed, Refused int64 }

// Stats returns the counters for metrics.
func (s *Scheduler) Stats() Stats {
	return Stats{s.counts[Sent].Load(), s.counts[Skipped].Load(), s.counts[Missed].Load(), s.counts[Refused].Load()}
}

// Active returns the number of jobs that are not done.
func (s *Scheduler) Active(ctx context.Context) (int, error) {
	all, err := s.o.Store.Jobs(ctx)
	return active(all), err
}
