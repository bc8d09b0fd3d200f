package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Scheduler runs jobs as its plan says. All methods may be called
// concurrently.
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

// Submit takes a job. It does not block. After Run has ended the job is not
// taken, its Done is told nothing, and the error is ErrClosed.
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

// Cancel withdraws the Progress and Hints of a chat that were submitted under a
// key, and returns once it is sure that none of them will run any more: one in
// flight is waited for, with its Done. An error means that it may still be running
// when ctx ended.
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

// Hold keeps a chat from sending before a moment, as if a job of it had been told to
// wait: an earlier process was.
func (s *Scheduler) Hold(chat int64, group bool, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan.holdChat(chat, group, until, time.Now())
	s.poke()
}

// Pending is how many Final and Approval jobs of a lane are not done.
func (s *Scheduler) Pending(chat int64, lane int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.plan.chats[chat]; c != nil {
		if l := c.lane(lane); l != nil {
			return len(l.jobs)
		}
	}
	return 0
}

// Stats tells how it stands. It takes time with the number of chats.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan.snapshot(time.Now())
}

// Run does jobs until ctx ends, and returns its cause. Then the contexts of jobs
// in flight have ended, they have returned, and the Done of each job was told. It
// is called once.
func (s *Scheduler) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	inFlight, cut := context.WithCancelCause(context.WithoutCancel(ctx)) // ends once the plan is closed: what fails then was cut off
	defer cut(nil)
	for {
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		if ctx.Err() != nil { // also if it ended together with another event: nothing begins any more
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

// shut tells all that waits, and then what was in flight.
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

// do runs one try of a job. It ends when the job's Do does.
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
	default: // a wake-up is already owed
	}
}

// tell tells each job's Done, and those who wait for the job's end.
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
