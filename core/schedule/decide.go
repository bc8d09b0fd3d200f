package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"bareclaw/core"
	"bareclaw/internal/humanize"
	"bareclaw/internal/wait"
)

// adapterName is the adapter name shown to the agent for answers without a delivering
// adapter.
const adapterName = "schedule"

// A decision is a pending decision about due occurrences of one job.
type decision struct {
	job   Job
	times times
	to    time.Time    // newest due time
	due   []Occurrence // oldest first; only the newest may be to send
}

// unsent returns the occurrence to send, nil for none.
func (d *decision) unsent() *Occurrence {
	for i := range d.due {
		if o := &d.due[i]; o.Outcome == Sent && o.Message == "" {
			return o
		}
	}
	return nil
}

// skipDecided drops the occurrences with a recorded outcome. An occurrence whose message was
// submitted, but not recorded because of a crash or a clock set back, becomes Sent.
func (s *Scheduler) skipDecided(ctx context.Context, d *decision) error {
	old, err := s.o.Store.Occurrences(ctx, d.job.ID, d.due[0].Due, Kept)
	if err != nil {
		return err
	}
	d.due = slices.DeleteFunc(d.due, func(o Occurrence) bool {
		return slices.ContainsFunc(old, func(known Occurrence) bool { return known.Due.Equal(o.Due) })
	})
	for i := range d.due {
		o := &d.due[i]
		switch id, err := s.o.Store.SourceMessage(ctx, SourceKey(d.job.ID, o.Due)); {
		case err == nil:
			*o = Occurrence{Due: o.Due, Outcome: Sent, Message: id, Late: o.Late}
		case !errors.Is(err, core.ErrNotFound):
			return err
		}
	}
	return nil
}

// startPrecheck runs the job's precheck in a goroutine and then decides.
func (s *Scheduler) startPrecheck(ctx context.Context, d decision) {
	s.prechecking[d.job.ID] = true
	s.tasks.Go(func() { // ends with ctx
		if err := s.decideByPrecheck(ctx, &d); err != nil {
			s.logRetry(ctx, "schedule "+d.job.ID, err)
			_ = wait.Sleep(ctx, retryDelay) // the end of ctx is noticed below
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
	d.unsent().skipBy(p, err)
	return s.commit(ctx, d)
}

// skipBy records a precheck that failed to run or found nothing to do. For a successful
// precheck skipBy returns false.
func (o *Occurrence) skipBy(p PrecheckResult, err error) bool {
	switch {
	case err != nil:
		o.Outcome, o.Late, o.Status, o.Why = Refused, false, p.Status, "The precheck could not be run: "+err.Error()+"."
	case p.Status != 0:
		o.Outcome, o.Late, o.Status = Skipped, false, p.Status
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
	// Paused meanwhile, or resumed: Resume decides from when on times count.
	if err != nil || j.Paused || j.DecidedTo.After(d.job.DecidedTo) {
		return err
	}
	d.job = j
	if o := d.unsent(); o != nil {
		if err := s.send(ctx, d, o); err != nil {
			return err
		}
	}
	now := s.now()
	for i := range d.due {
		d.due[i].Job, d.due[i].DecidedAt = j.ID, now
	}
	c := Decision{Job: j.ID, Occurrences: d.due, DecidedTo: d.to}
	if d.times.next(c.DecidedTo).IsZero() {
		c.DoneAt = now
	}
	if err := s.o.Store.Decide(ctx, c, Kept); err != nil {
		return err
	}
	s.report(j.ID, j.Channel, d.due)
	return nil
}

// send submits the message of an occurrence. An error can be retried; a permanent
// failure is an outcome.
func (s *Scheduler) send(ctx context.Context, d *decision, o *Occurrence) error {
	why, err := s.blocked(ctx, &d.job)
	if err != nil {
		return err
	}
	if why == "" {
		o.Message, err = s.submit(ctx, d, o)
		switch {
		case err == nil:
			return nil
		case retryable(err), ctx.Err() != nil:
			return err
		}
		why = refusal(err)
	}
	o.Outcome, o.Late, o.Why = Refused, false, why
	return nil
}

func (s *Scheduler) submit(ctx context.Context, d *decision, o *Occurrence) (core.MessageID, error) {
	j := &d.job
	sub := core.Submission{
		Channel:   j.Channel,
		Adapter:   adapterName,
		Content:   core.Content{Text: textOf(j, o, s.now(), d.times.zone)},
		SourceKey: SourceKey(j.ID, o.Due),
	}
	if adapter := s.o.Deliverers.Deliverer(j.Channel); adapter != "" { // as for a message from the adapter's own users
		sub.Adapter, sub.Deliver, sub.CanAsk = adapter, true, true
	}
	return s.submitAs(ctx, sub)
}

// submitAs submits a message and returns the message's id.
func (s *Scheduler) submitAs(ctx context.Context, sub core.Submission) (core.MessageID, error) {
	t, err := s.o.Submitter.Submit(ctx, sub)
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
		if n := s.counts[o.Outcome]; n != nil {
			n.Add(1)
		}
		log := s.o.Log.Info
		if o.Outcome == Missed || o.Outcome == Refused {
			log = s.o.Log.Warn
		}
		log("schedule was due", "schedule", job, "channel", string(channel), "due", o.Due, "outcome", string(o.Outcome),
			"message", string(o.Message), "late", o.Late, "why", o.Why)
	}
}

const stampLayout = "2006-01-02 15:04 MST"

// textOf returns the text for the agent: the job's text below a line that names the
// schedule as the sender and notes a late delivery. A slash command stays without the
// line, since the agent recognizes a command only at the very beginning.
func textOf(j *Job, o *Occurrence, now time.Time, zone *time.Location) string {
	if strings.HasPrefix(j.Text, "/") {
		return j.Text
	}
	line := "[schedule: " + j.ID + ", due " + o.Due.In(zone).Format(stampLayout)
	if o.Late {
		line += ", sent late at " + now.In(zone).Format(stampLayout)
	}
	return line + "]\n" + j.Text
}

// startOfDay returns the beginning of t's calendar day.
func startOfDay(t time.Time) time.Time {
	year, month, d := t.Date()
	start := time.Date(year, month, d, 0, 0, 0, 0, t.Location())
	if start.Day() != d { // clocks skip midnight on the day
		start = start.Add(time.Hour)
	}
	return start
}

// says reports whether an answer consists only of word. Markdown marks around the word,
// quotes and full stops do not count.
func says(answer, word string) bool {
	bare := strings.TrimFunc(answer, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("*_~`\"'.", r) })
	return word != "" && bare == word
}
