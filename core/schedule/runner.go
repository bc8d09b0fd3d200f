package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
	"bareclaw/internal/wait"
)

// A runner carries out the runs of one built-in job. One goroutine makes all passes: a
// pass completes each open occurrence and pushes the pending answers. The runner records
// each step before the next, so that after a crash the next process continues at the
// last recorded step.
type runner struct {
	s      *Scheduler
	job    BuiltIn
	since  time.Time // start of the process, shown as the job's creation
	wakeup wait.Signal

	mu sync.Mutex // protects busy, and sends to wakeup
	// busy is nil while the runner is idle, and closed at the end of a pass, or once the
	// message of the pass waits on a parked channel.
	busy chan struct{}
}

func newRunner(s *Scheduler, job BuiltIn) *runner {
	return &runner{s: s, job: job, since: s.now(), wakeup: wait.NewSignal()}
}

// request records that a slot is to run, and returns the channel of wake, nil for a
// skipped slot.
func (r *runner) request(ctx context.Context, due time.Time) (over <-chan struct{}, err error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	all, err := r.occurrences(ctx)
	if err != nil {
		return nil, err
	}
	o := Occurrence{Job: r.job.ID, Due: due, Outcome: Due, DecidedAt: r.s.now()}
	known := slices.IndexFunc(all, func(o Occurrence) bool { return o.Due.Equal(due) })
	if known >= 0 && all[known].Outcome != Skipped {
		return r.wake(), nil
	}
	if i := slices.IndexFunc(all, func(o Occurrence) bool { return o.open() }); i >= 0 {
		o.Outcome, o.Why = Skipped, strings.TrimSpace(fmt.Sprintf("The message of %s has no outcome yet. %s", all[i].Due.UTC().Format(stampLayout), all[i].Why))
		return nil, r.save(ctx, &o)
	}
	if err := r.save(ctx, &o); err != nil {
		return nil, err
	}
	return r.wake(), nil
}

// wake requests a pass and returns the channel busy.
func (r *runner) wake() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy == nil {
		r.busy = make(chan struct{})
	}
	r.wakeup.Send()
	return r.busy
}

// run makes the requested passes until ctx ends. The first pass completes the work of
// the previous process.
func (r *runner) run(ctx context.Context) {
	r.wake()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wakeup:
		}
		if err := r.pass(ctx); err != nil {
			r.s.logRetry(ctx, "schedule "+r.job.ID, err)
			if wait.Sleep(ctx, retryDelay) != nil {
				return
			}
			r.wake()
			continue
		}
		r.mu.Lock()
		if len(r.wakeup) == 0 {
			close(r.busy)
			r.busy = nil
		}
		r.mu.Unlock()
	}
}

// pass completes the open occurrences, oldest first, and pushes the pending answers.
func (r *runner) pass(ctx context.Context) error {
	all, err := r.occurrences(ctx)
	if err != nil {
		return err
	}
	for i := range slices.Backward(all) {
		if !all[i].open() {
			continue
		}
		if err := r.carryOut(ctx, &all[i], all[i+1:]); err != nil {
			return err
		}
	}
	return r.notify(ctx, all)
}

// carryOut completes an open occurrence. The occurrences in earlier come newest first.
func (r *runner) carryOut(ctx context.Context, o *Occurrence, earlier []Occurrence) error {
	if o.Outcome == Due {
		if err := r.send(ctx, o); err != nil {
			return err
		}
		o.DecidedAt = r.s.now()
		r.s.report(r.job.ID, r.job.Channel, []Occurrence{*o})
		if err := r.save(ctx, o); err != nil || o.Outcome != Sent {
			return err
		}
	}
	m, err := r.outcome(ctx, o, earlier)
	if err != nil {
		return err
	}
	o.Why, o.Answer = "", r.answer(&m, earlier)
	return r.save(ctx, o)
}

// send decides about a due occurrence, which becomes Sent, Skipped or Refused. send
// finds a message submitted by an earlier process by the source key.
func (r *runner) send(ctx context.Context, o *Occurrence) error {
	key := SourceKey(r.job.ID, o.Due)
	id, err := r.s.o.Store.SourceMessage(ctx, key)
	if err == nil {
		o.Outcome, o.Message = Sent, id
		return nil
	}
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	if r.job.Precheck != "" {
		p, err := r.s.o.Precheck(ctx, r.job.Precheck)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if o.skipBy(p, err) {
			return nil
		}
	}
	text, err := r.job.Text()
	if err == nil && r.job.Fresh != "" {
		_, err = r.submit(ctx, r.job.Fresh, key+":fresh")
	}
	if err == nil {
		o.Message, err = r.submit(ctx, text, key)
	}
	if err != nil && (retryable(err) || ctx.Err() != nil) {
		return err
	}
	o.Outcome = Sent
	if err != nil {
		o.Outcome, o.Why = Refused, refusal(err)
	}
	return nil
}

func (r *runner) submit(ctx context.Context, text, key string) (core.MessageID, error) {
	return r.s.submitAs(ctx, core.Submission{
		Channel:   r.job.Channel,
		Adapter:   adapterName,
		Content:   core.Content{Text: text},
		SourceKey: key,
	})
}

// outcome waits for the message's outcome. If the channel is parked, outcome records the
// fact and notifies people once.
func (r *runner) outcome(ctx context.Context, o *Occurrence, earlier []Occurrence) (core.Message, error) {
	m, err := r.s.o.Waiter.WaitOrPark(ctx, o.Message)
	if err == nil && !m.State.Final() {
		if err := r.park(ctx, o, earlier); err != nil {
			return m, err
		}
		m, err = r.s.o.Waiter.Wait(ctx, o.Message)
		r.mu.Lock()
		r.busy = make(chan struct{})
		r.mu.Unlock()
	}
	switch {
	case errors.Is(err, core.ErrNotFound):
		return core.Message{Reply: core.Reply{State: core.Cancelled, Error: "The message is not on record any more."}}, nil
	case err != nil || m.Reply.Into == "" || m.Reply.Text != "":
		return m, err
	}
	carrier, err := r.s.o.Waiter.Wait(ctx, m.Reply.Into)
	m.Reply.Text = carrier.Reply.Text
	return m, err
}

// park records that a message waits on a parked channel. park notifies people unless the
// previous run failed with a code, since people have then received a notification.
func (r *runner) park(ctx context.Context, o *Occurrence, earlier []Occurrence) error {
	o.Why = r.s.o.Waiter.QueuePosition(o.Message).Why
	if err := r.save(ctx, o); err != nil {
		return err
	}
	if before := lastAnswer(earlier); r.job.Notify != "" && (before == nil || before.Code == "") {
		id := pushID(SourceKey(r.job.ID, o.Due) + ":parked")
		if err := r.push(ctx, core.Push{ID: id, Channel: r.job.Notify, Text: r.job.Title + ": " + humanize.Plain(o.Why)}); err != nil {
			r.s.o.Log.Warn("schedules: nobody was told that a message waits", "schedule", r.job.ID, "channel", string(r.job.Notify), "err", err)
		}
	}
	r.mu.Lock()
	close(r.busy)
	r.mu.Unlock()
	return nil
}

// answer makes the Answer from a message's outcome. A failure is pushed unless the
// previous run failed with the same code.
func (r *runner) answer(m *core.Message, earlier []Occurrence) *Answer {
	reply := &m.Reply
	a := &Answer{State: reply.State, Code: reply.Code, CostUSD: reply.CostUSD, Duration: reply.Duration}
	switch {
	case reply.State == core.Answered && says(reply.Text, r.job.Quiet):
		a.Push, a.Text = Quiet, r.job.Quiet
		return a
	case reply.State == core.Answered:
		if a.Text = strings.TrimSpace(humanize.Plain(reply.Text)); a.Text == "" {
			a.Push, a.Problem = NotPushed, "the answer is empty"
			return a
		}
	default:
		a.Text = humanize.Plain(cmp.Or(reply.Error, reply.Text))
		before := lastAnswer(earlier)
		if reply.State != core.Failed || before != nil && before.Code == reply.Code {
			return a
		}
		a.Text = r.job.Title + ": " + a.Text
		for _, n := range reply.Notices {
			a.Text += "\n\n" + humanize.Plain(n.Text)
		}
	}
	if a.Push = Pending; r.job.Notify == "" {
		a.Push, a.Problem = NotPushed, "no channel is set for the answers"
	}
	return a
}

// lastAnswer returns the newest answer that was not cancelled, nil if none exists.
func lastAnswer(newestFirst []Occurrence) *Answer {
	for i := range newestFirst {
		if a := newestFirst[i].Answer; a != nil && a.State != core.Cancelled {
			return a
		}
	}
	return nil
}

func (r *runner) occurrences(ctx context.Context) ([]Occurrence, error) {
	return r.s.o.Store.Occurrences(ctx, r.job.ID, time.Time{}, Kept)
}

func (r *runner) occurrence(ctx context.Context, due time.Time) (Occurrence, error) {
	all, err := r.occurrences(ctx)
	i := slices.IndexFunc(all, func(o Occurrence) bool { return o.Due.Equal(due) })
	if err == nil && i < 0 {
		err = core.ErrNotFound
	}
	if err != nil {
		return Occurrence{}, err
	}
	return all[i], nil
}

// save stores occurrences together.
func (r *runner) save(ctx context.Context, all ...*Occurrence) error {
	changed := make([]Occurrence, len(all))
	for i, o := range all {
		changed[i] = *o
	}
	return r.s.o.Store.PutOccurrences(ctx, r.job.ID, changed, Kept)
}
