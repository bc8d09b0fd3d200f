package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// adapterName is the adapter name shown to the agent for answers without a delivering
// adapter.
const adapterName = "schedule"

// A decision is a pending decision about due occurrences of one job.
type decision struct {
	job      Job
	times    times
	verdicts []verdict // oldest first; only the last verdict may be to send
	known    []Occurrence
}

// newest returns the verdict about the newest occurrence.
func (d *decision) newest() *verdict { return &d.verdicts[len(d.verdicts)-1] }

func (d *decision) sends() bool { return d.newest().send }

// skipDecided skips the occurrences that an earlier process decided or sent, before a
// crash or before the clock was set back.
func (s *Scheduler) skipDecided(ctx context.Context, d *decision) error {
	old, err := s.o.Store.Occurrences(ctx, d.job.ID, d.verdicts[0].due, Kept)
	if err != nil {
		return err
	}
	decided := make(map[int64]bool, len(old))
	for i := range old {
		decided[old[i].Due.Unix()] = true
	}
	for i := range d.verdicts {
		v := &d.verdicts[i]
		if decided[v.due.Unix()] {
			v.skip() // the occurrence keeps the recorded outcome
			continue
		}
		id, err := s.o.Store.SourceMessage(ctx, SourceKey(d.job.ID, v.due))
		if errors.Is(err, core.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		v.skip()
		d.known = append(d.known, Occurrence{Due: v.due, Outcome: Sent, Message: id, Late: v.late})
	}
	return nil
}

// startPrecheck runs the job's precheck in a goroutine and then decides.
func (s *Scheduler) startPrecheck(ctx context.Context, d decision) {
	s.prechecking[d.job.ID] = true
	s.tasks.Go(func() { // ends with ctx
		if err := s.decideByPrecheck(ctx, &d); err != nil {
			s.logRetry(ctx, "schedule "+d.job.ID, err)
			select {
			case <-time.After(retryDelay):
			case <-ctx.Done():
			}
		}
		select {
		case s.prechecked <- d.job.ID:
		case <-ctx.Done():
		}
	})
}

func (s *Scheduler) decideByPrecheck(ctx context.Context, d *decision) error {
	p, err := s.o.Precheck(ctx, d.job.Precheck)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	o := Occurrence{Due: d.newest().due}
	if o.skipBy(p, err) {
		d.newest().skip()
		d.known = append(d.known, o)
	}
	return s.commit(ctx, d)
}

// skipBy records a precheck that failed to run or found nothing to do. For a successful
// precheck skipBy returns false.
func (o *Occurrence) skipBy(p PrecheckResult, err error) bool {
	switch {
	case err != nil:
		o.Outcome, o.Status, o.Why = Refused, p.Status, "The precheck could not be run: "+err.Error()+"."
	case p.Status != 0:
		o.Outcome, o.Status = Skipped, p.Status
		o.Why = strings.TrimSpace(fmt.Sprintf("The precheck ended with status %d: nothing to do. %s", p.Status, p.Said))
	default:
		return false
	}
	return true
}

// commit sends the occurrence to be sent and records the outcomes of all due
// occurrences. After an error nothing is recorded, and the next poll decides again.
func (s *Scheduler) commit(ctx context.Context, d *decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.o.Store.Job(ctx, d.job.ID)
	if errors.Is(err, core.ErrNotFound) {
		return nil // the job was removed meanwhile
	}
	if err != nil {
		return err
	}
	d.job = j
	outcomes := d.known
	for i := range d.verdicts {
		v := &d.verdicts[i]
		switch {
		case v.send:
			o, err := s.send(ctx, d, *v)
			if err != nil {
				return err
			}
			outcomes = append(outcomes, o)
		case !v.skipped:
			outcomes = append(outcomes, Occurrence{Due: v.due, Outcome: Missed, Why: v.why})
		}
	}
	now := s.now()
	for i := range outcomes {
		outcomes[i].Job, outcomes[i].DecidedAt = j.ID, now
	}
	c := Decision{Job: j.ID, Occurrences: outcomes, DecidedTo: d.newest().due}
	if d.times.next(c.DecidedTo).IsZero() {
		c.DoneAt = now
	}
	if err := s.o.Store.Decide(ctx, c, Kept); err != nil {
		return err
	}
	s.report(j.ID, j.Channel, outcomes)
	return nil
}

// send submits the message of an occurrence. An error can be retried; a permanent
// failure is an outcome.
func (s *Scheduler) send(ctx context.Context, d *decision, v verdict) (Occurrence, error) {
	o := Occurrence{Due: v.due, Outcome: Sent, Late: v.late}
	why, err := s.blocked(ctx, &d.job)
	if err != nil {
		return o, err
	}
	if why == "" {
		o.Message, err = s.submit(ctx, d, v)
		switch {
		case err == nil:
			return o, nil
		case retryable(err), ctx.Err() != nil:
			return o, err
		}
		why = refusal(err)
	}
	o.Outcome, o.Late, o.Why = Refused, false, why
	return o, nil
}

func (s *Scheduler) submit(ctx context.Context, d *decision, v verdict) (core.MessageID, error) {
	j := &d.job
	sub := core.Submission{
		Channel: j.Channel, Adapter: adapterName, Content: core.Content{Text: textOf(j, v, s.now(), d.times.zone)},
		SourceKey: SourceKey(j.ID, v.due),
	}
	if adapter := s.o.Core.Deliverer(j.Channel); adapter != "" { // as for a message from the adapter's own users
		sub.Adapter, sub.Deliver, sub.CanAsk = adapter, true, true
	}
	return s.submitAs(ctx, sub)
}

// submitAs submits a message and returns the message's id.
func (s *Scheduler) submitAs(ctx context.Context, sub core.Submission) (core.MessageID, error) {
	t, err := s.o.Core.Submit(ctx, sub)
	if err != nil {
		return "", err
	}
	return t.Message.ID, nil
}

// blocked returns the reason against sending an occurrence, empty for none.
func (s *Scheduler) blocked(ctx context.Context, j *Job) (string, error) {
	if err := s.o.Admit(ctx, j.Channel); err != nil {
		if retryable(err) || ctx.Err() != nil {
			return "", err
		}
		return err.Error(), nil
	}
	if j.Budget == 0 {
		return "", nil
	}
	spent, err := s.o.Store.SourceCost(ctx, SourcePrefix(j.ID), startOfDay(s.now().In(s.o.Zone)))
	if err != nil || spent < j.Budget {
		return "", err
	}
	spentText, limit := humanize.USDOfLimit(spent, j.Budget)
	return fmt.Sprintf("Its budget of %s a day is used up (%s spent today).", limit, spentText), nil
}

// retryable reports whether a failed operation may be tried again, by this process or
// the next.
func retryable(err error) bool {
	return errors.Is(err, core.ErrStorage) || errors.Is(err, core.ErrStorageFull) || errors.Is(err, core.ErrClosed)
}

func refusal(err error) string {
	if errors.Is(err, core.ErrQueueFull) {
		return "The channel already held as many messages as it may (BARECLAW_QUEUE_LIMIT)."
	}
	return "The message was not accepted: " + err.Error() + "."
}

// report counts and logs the outcomes of occurrences.
func (s *Scheduler) report(job string, channel core.ChannelKey, all []Occurrence) {
	for i := range all {
		o := &all[i]
		switch o.Outcome {
		case Sent:
			s.stats.sent.Add(1)
		case Skipped:
			s.stats.skipped.Add(1)
		case Missed:
			s.stats.missed.Add(1)
		case Refused:
			s.stats.refused.Add(1)
		}
		log := s.o.Log.Info
		if o.Outcome == Missed || o.Outcome == Refused {
			log = s.o.Log.Warn
		}
		log("schedule was due", "schedule", job, "channel", string(channel), "due", o.Due, "outcome", string(o.Outcome),
			"message", string(o.Message), "late", o.Late, "why", o.Why)
	}
}
