package schedule

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/core"
)

const (
	// lookEvery bounds how long the clock is not looked at: it may be set, and timers
	// stand still while a machine sleeps.
	pollInterval = time.Minute
	// againAfter is how long is waited when the ledger cannot be read or written.
	retryDelay    = 5 * time.Second
	pruneInterval = time.Hour
	// firstYear is before which a clock is known to be wrong: a machine whose clock has
	// no battery begins in 1970, and hears later what time it is.
	firstYear = 2000
)

// A Core takes the messages. A *lanes.Manager is one.
type Core interface {
	Submit(ctx context.Context, s core.Submission) (*core.Ticket, error)
	// Deliverer names the adapter that answers on the channel are delivered by; empty if
	// there is none.
	Deliverer(key core.ChannelKey) string
}

// A Waiter waits for messages. A *lanes.Manager is one.
type Waiter interface {
	// Wait returns a message once it has its outcome.
	Wait(ctx context.Context, id core.MessageID) (core.Message, error)
	// WaitOrPark also returns once the message waits on a parked channel.
	WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error)
	// QueuePosition returns why a message waits.
	QueuePosition(id core.MessageID) core.QueuePosition
}

// A PrecheckResult is what a precheck said.
type PrecheckResult struct {
	Status int    // of the command; 0: there is something to do
	Said   string // the last line that it printed
}

// Options are what a Scheduler works with. Store, Core and Log are required.
type Options struct {
	Store Store
	Core  Core
	Log   *slog.Logger
	// Precheck runs a command line. An error means that it could not be run, or took too
	// long. It ends when ctx does. Nil: no job may have one.
	Precheck func(ctx context.Context, line string) (PrecheckResult, error)
	// BuiltIns are the jobs that the program defines; they need Waiter and Push.
	BuiltIns []BuiltIn
	Waiter   Waiter
	Push     func(ctx context.Context, p core.Push) error // delivers once for all pushes with the same id
	// Admit returns why a channel may not be written to, nil if it may. Nil: all may.
	Admit func(ctx context.Context, key core.ChannelKey) error
	Zone  *time.Location   // the machine's; nil: time.Local
	Now   func() time.Time // nil: time.Now
}

// A Scheduler keeps jobs and sends what they say when it is due. All methods are safe
// for concurrent use. Jobs can be added, read and removed also while nothing runs.
type Scheduler struct {
	o      Options
	wakeup chan struct{} // says "look again"; capacity 1

	// mu is held while a job is added or removed, and while an occurrence is sent: a
	// job that was removed sends nothing any more.
	mu sync.Mutex

	prechecking map[string]bool // jobs whose precheck runs; only touched by Run
	prechecked  chan string     // those whose precheck has ended
	tasks       sync.WaitGroup
	pruned      time.Time          // only touched by Run
	runners     map[string]*runner // of built-in jobs, by id; never changed

	stats struct{ sent, skipped, missed, refused atomic.Int64 }
}

// New returns a scheduler that sends nothing before Run.
func New(o Options) *Scheduler {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Scheduler{o: o, wakeup: make(chan struct{}, 1), prechecking: map[string]bool{}, prechecked: make(chan string), runners: map[string]*runner{}}
	for _, b := range o.BuiltIns {
		s.runners[b.ID] = newRunner(s, b)
	}
	return s
}

// now is the time by the wall clock alone: what the monotonic clock says of a time
// that has passed is wrong after a sleep.
func (s *Scheduler) now() time.Time { return s.o.Now().Round(0) }

// Run sends what is due until ctx ends, and returns when nothing of it is under way any
// more. It is called once. What it was at when ctx ended is taken up by the next process.
func (s *Scheduler) Run(ctx context.Context) {
	defer s.tasks.Wait()
	for _, r := range s.runners {
		s.tasks.Go(func() { r.run(ctx) }) // ends with ctx
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-s.prechecked:
			delete(s.prechecking, id)
		case <-s.wakeup:
		case <-timer.C:
		}
		if wait := s.poll(ctx); wait > 0 {
			timer.Reset(wait)
		} else {
			timer.Stop() // until there is a job
		}
	}
}

// look sees to everything that is due, and returns how long there is nothing to do; 0
// means until there is another job.
func (s *Scheduler) poll(ctx context.Context) (wait time.Duration) {
	if s.now().Year() < firstYear {
		return pollInterval
	}
	jobs, err := s.o.Store.Jobs(ctx)
	if err != nil {
		s.logRetry(ctx, "read schedules", err)
		return retryDelay
	}
	s.prune(ctx)
	for i := range jobs {
		j := &jobs[i]
		if ctx.Err() != nil {
			return retryDelay
		}
		early := j.DecidedTo.After(s.now())
		if !j.DoneAt.IsZero() && !early || s.prechecking[j.ID] {
			continue
		}
		next, err := s.process(ctx, j)
		if err != nil {
			s.logRetry(ctx, "schedule "+j.ID, err)
			next = s.now().Add(retryDelay)
		}
		if !next.IsZero() {
			wait = soonest(wait, max(next.Sub(s.now()), time.Millisecond))
		}
	}
	if len(jobs) == 0 && len(s.runners) == 0 {
		return 0
	}
	return soonest(wait, pollInterval)
}

func soonest(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// trouble logs what could not be done, unless this process is ending.
func (s *Scheduler) logRetry(ctx context.Context, what string, err error) {
	if ctx.Err() == nil && !errors.Is(err, core.ErrClosed) {
		s.o.Log.Error("schedules: not done yet", "what", what, "err", err, "retry_in", retryDelay)
	}
}

// prune forgets what is too old to be shown.
func (s *Scheduler) prune(ctx context.Context) {
	now := s.now()
	if since := now.Sub(s.pruned); since >= 0 && since < pruneInterval {
		return
	}
	if err := s.o.Store.Prune(ctx, now.Add(-occurrenceRetention), now.Add(-doneRetention)); err != nil {
		s.logRetry(ctx, "forget old occurrences", err)
		return
	}
	s.pruned = now
}

// tend sees to what is due of one job, and returns when it is due next; zero if that
// is never, or not known before its precheck has ended.
func (s *Scheduler) process(ctx context.Context, j *Job) (next time.Time, err error) {
	t, err := timesOf(j, s.o.Zone)
	if err != nil {
		return time.Time{}, err
	}
	now := s.now()
	if j.DecidedTo.After(now) { // what comes again and was not missed has its outcome already
		s.o.Log.Info("schedules: the clock was set back", "schedule", j.ID, "by", j.DecidedTo.Sub(now))
		if err := s.o.Store.SetBack(ctx, j.ID, now); err != nil {
			return time.Time{}, err
		}
		j.DecidedTo, j.DoneAt = now, time.Time{}
	}
	due, more := t.between(j.DecidedTo, now, Kept)
	if len(due) == 0 {
		return t.next(now), nil
	}
	rule, err := ParseMissed(j.Missed)
	if err != nil {
		return time.Time{}, err
	}
	d := decision{job: *j, times: t, verdicts: classify(due, more, now, rule)}
	if err := s.skipDecided(ctx, &d); err != nil {
		return time.Time{}, err
	}
	if d.sends() && j.Precheck != "" {
		s.startPrecheck(ctx, d)
		return time.Time{}, nil
	}
	if err := s.commit(ctx, &d); err != nil {
		return time.Time{}, err
	}
	return t.next(now), nil
}
