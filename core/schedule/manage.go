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

// A Request describes a job to add. Empty fields have defaults: TZ the machine's zone,
// Missed "once" for a single moment and "skip" otherwise.
type Request struct {
	Channel          core.ChannelKey
	Text             string
	When, TZ, Missed string
	Precheck         string
	Budget           float64

	SourceKey, SourceHash string // make the request idempotent, as in core.Submission
}

// Add stores a new job and returns the job once durable. existing reports an earlier
// request with the same key. Errors: *InvalidError, ErrTooMany, core.ErrKeyReused, the
// errors of Options.Admit, and those of the ledger.
func (s *Scheduler) Add(ctx context.Context, r Request) (j Job, existing bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.o.Store.Jobs(ctx)
	if err != nil {
		return Job{}, false, err
	}
	if i := slices.IndexFunc(all, func(j Job) bool { return r.SourceKey != "" && j.SourceKey == r.SourceKey }); i >= 0 {
		if all[i].SourceHash != r.SourceHash {
			return Job{}, false, fmt.Errorf("%w: it belongs to schedule %s", core.ErrKeyReused, all[i].ID)
		}
		return all[i], true, nil
	}
	if j, err = s.jobOf(r); err != nil {
		return Job{}, false, err
	}
	if err := s.o.Admit(ctx, r.Channel); err != nil {
		return Job{}, false, err
	}
	if active(all) >= MaxJobs {
		return Job{}, false, ErrTooMany
	}
	defer s.wake() // also after an error: the store may keep the job after ctx has ended
	if err := s.o.Store.AddJob(ctx, j); err != nil {
		return Job{}, false, err
	}
	return j, false, nil
}

func active(all []Job) (n int) {
	for i := range all {
		if all[i].DoneAt.IsZero() {
			n++
		}
	}
	return n
}

// jobOf makes a job from a request.
func (s *Scheduler) jobOf(r Request) (Job, error) {
	now := s.now()
	zone, err := zoneOf(r.TZ, s.o.Zone)
	if err != nil {
		return Job{}, err
	}
	when, err := ParseWhen(r.When, now, zone)
	if err != nil {
		return Job{}, err
	}
	if r.Missed == "" {
		r.Missed = "skip"
		if !when.At.IsZero() {
			r.Missed = "once"
		}
	}
	missed, err := ParseMissed(r.Missed)
	if err != nil {
		return Job{}, err
	}
	switch {
	case len(r.Text) > MaxTextBytes:
		return Job{}, invalid("text", "The text of a schedule is at most %d bytes, and this one has %d. Write it to a file, and have the text name that.", MaxTextBytes, len(r.Text))
	case len(r.Precheck) > MaxPrecheckBytes || strings.ContainsRune(r.Precheck, 0):
		return Job{}, invalid("precheck", "A precheck is a command line of at most %d bytes.", MaxPrecheckBytes)
	case r.Budget < 0 || math.IsNaN(r.Budget) || math.IsInf(r.Budget, 0):
		return Job{}, invalid("budget", "A budget is a number of USD a day, 0 for any amount.")
	}
	return Job{
		ID: strings.ToLower(rand.Text()[:10]), Channel: r.Channel, Text: r.Text, When: when.String(), TZ: r.TZ, Missed: missed.String(),
		Precheck: r.Precheck, Budget: r.Budget, SourceKey: r.SourceKey, SourceHash: r.SourceHash, CreatedAt: now, DecidedTo: now,
	}, nil
}

// Next returns the next due times of a job, at most three.
func (s *Scheduler) Next(j *Job) []time.Time {
	t, err := timesOf(j, s.o.Zone)
	if err != nil || !j.DoneAt.IsZero() {
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
	pass, err := r.request(lasting, due)
	if err != nil {
		return Occurrence{}, err
	}
	r.await(ctx, pass)
	return r.occurrence(lasting, due)
}

func (s *Scheduler) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default: // a wake-up is already pending
	}
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
