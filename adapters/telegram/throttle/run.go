package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Scheduler runs jobs according to a plan. Its methods are safe for concurrent use.
type Scheduler struct {
	wake chan struct{} // of capacity 1: look again
	jobs sync.WaitGroup

	mu   sync.Mutex // guards the plan; never held while a function of a Job runs
	plan *plan
}

// New makes a Scheduler. Nothing is done before Run.
func New(o Options) *Scheduler {
	return &Scheduler{wake: make(chan struct{}, 1), plan: newPlan(o)}
}

// Submit adds a job without blocking. After Run has ended, the error is ErrClosed and
// Done is not called.
func (s *Scheduler) Submit(j Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plan.closed {
		return ErrClosed
	}
	s.plan.submit(j, time.Now())
	s.poke()
	return nil
}

// Cancel withdraws the Progress and Hints of a chat under a key. Cancel returns when
// none of the jobs runs, and Done of the jobs in flight was called. An error means that
// ctx ended first.
func (s *Scheduler) Cancel(ctx context.Context, chat int64, key string) error {
	for _, told := range s.withdraw(chat, key) {
		select {
		case <-told:
		case <-ctx.Done():
			return fmt.Errorf("wait for a send in flight: %w", context.Cause(ctx))
		}
	}
	return nil
}

func (s *Scheduler) withdraw(chat int64, key string) (told []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.plan.cancel(chat, key, time.Now()) {
		if j.told == nil {
			j.told = make(chan struct{})
		}
		told = append(told, j.told)
	}
	s.poke()
	return told
}

// Hold keeps a chat from sending before a moment: Telegram requested the pause from an
// earlier process.
func (s *Scheduler) Hold(chat int64, group bool, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan.holdChat(chat, group, until, time.Now())
	s.poke()
}

// Stats returns counts and the present state. The cost grows with the number of chats.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan.snapshot(time.Now())
}

// Run does jobs until ctx ends. Run then returns the cause of ctx, after all jobs in
// flight have returned and Done of each job was called. Run is called once.
func (s *Scheduler) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	inFlight, cut := context.WithCancelCause(context.WithoutCancel(ctx)) // ends when the plan is closed
	defer cut(nil)
	for {
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		if ctx.Err() != nil { // also together with another event
			s.shut(cut)
			return context.Cause(ctx)
		}
		begun, ended, again := s.step()
		tell(ended)
		for _, j := range begun {
			s.jobs.Go(func() { s.do(inFlight, j) })
		}
		if again.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(again))
		}
	}
}

func (s *Scheduler) step() (begun []*job, ended []ending, again time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun, again = s.plan.next(time.Now())
	return begun, s.plan.take(), again
}

// shut ends waiting jobs, and then the jobs in flight.
func (s *Scheduler) shut(cut context.CancelCauseFunc) {
	s.mu.Lock()
	s.plan.close()
	ended := s.plan.take()
	s.mu.Unlock()
	cut(ErrClosed)
	tell(ended)
	s.jobs.Wait()
	s.mu.Lock()
	ended = s.plan.take()
	s.mu.Unlock()
	tell(ended)
}

// do runs one try of a job, and ends when the job's Do returns.
func (s *Scheduler) do(ctx context.Context, j *job) {
	err := j.Do(ctx, Try{Number: j.Tried + 1, Unsure: j.unsure})
	at := time.Now()
	var v Verdict
	if err != nil {
		v = s.plan.o.Classify(err)
	}
	s.mu.Lock()
	before := s.plan.outage.failures
	s.plan.finish(j, err, v, at)
	after, held := s.plan.outage.failures, s.plan.held
	s.mu.Unlock()
	s.poke()
	log := s.plan.o.Log
	switch {
	case before == 0 && after > 0:
		log.Warn("sends are held: nothing is answered", "err", err)
	case before > 0 && after == 0:
		log.Info("sends go on", "failures", before)
	}
	if err != nil && v.Kind == Wait && v.Global {
		log.Warn("sends are held: told to wait", "until", held)
	}
}

func (s *Scheduler) poke() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is pending
	}
}

// tell calls Done of ended jobs, and wakes Cancel.
func tell(ended []ending) {
	for _, e := range ended {
		if e.job.Done != nil {
			e.job.Done(e.err)
		}
		if e.job.told != nil {
			close(e.job.told)
		}
	}
}
