package schedule

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

const (
	// pollInterval bounds the time between two readings of the clock, because the clock
	// may be set, and timers stop while a machine sleeps.
	pollInterval = time.Minute
	// retryDelay is the pause after a failure to read or write the ledger.
	retryDelay    = 5 * time.Second
	pruneInterval = time.Hour
	// firstYear is the first plausible year: the clock of a machine without a battery
	// begins in 1970 and is set later.
	firstYear = 2000
)

// A Submitter accepts messages.
type Submitter interface {
	Submit(ctx context.Context, s core.Submission) (*core.Ticket, error)
}

// Deliverers names the adapters that deliver answers.
type Deliverers interface {
	// Deliverer returns the name of the adapter that delivers answers on the channel,
	// empty if none does.
	Deliverer(key core.ChannelKey) string
}

// A Waiter waits for messages.
type Waiter interface {
	// Wait returns a message once the outcome is known.
	Wait(ctx context.Context, id core.MessageID) (core.Message, error)
	// WaitOrPark is Wait, but also returns once the message waits on a parked channel.
	WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error)
	// QueuePosition returns the reason why a message waits.
	QueuePosition(id core.MessageID) core.QueuePosition
}

// A PrecheckResult is the result of a precheck command.
type PrecheckResult struct {
	Status int    // exit status of the command; 0: work to do
	Said   string // last line of output
}

// Options configure a Scheduler. Store, Submitter, Deliverers, Log, Precheck and Admit
// are required.
type Options struct {
	Store      Store
	Submitter  Submitter
	Deliverers Deliverers
	Log        *slog.Logger
	// Precheck runs a command line and returns when ctx ends at the latest. An error
	// means that the command did not run or took too long.
	Precheck func(ctx context.Context, line string) (PrecheckResult, error)
	// BuiltIns are the jobs defined by the program. Built-in jobs need Waiter and Push.
	BuiltIns []BuiltIn
	Waiter   Waiter
	Push     func(ctx context.Context, p core.Push) error // delivers pushes with the same id once
	// Admit returns an error for a channel that must not receive messages.
	Admit func(ctx context.Context, key core.ChannelKey) error
	Zone  *time.Location   // the gateway's zone; nil: time.Local
	Now   func() time.Time // nil: time.Now
}

// A Scheduler stores jobs and sends their messages when due. All methods are safe for
// concurrent use. Callers may add, read and remove jobs also before and after Run.
type Scheduler struct {
	o    Options
	wake wait.Signal // requests a poll

	// mu is held while a job is added, changed or removed, and while an occurrence is sent,
	// so that a removed or paused job sends nothing more.
	mu sync.Mutex

	prechecking map[string]bool // jobs with a running precheck; only touched by Run
	prechecked  chan string     // jobs whose precheck has ended
	tasks       sync.WaitGroup
	pruned      time.Time          // only touched by Run
	runners     map[string]*runner // built-in jobs by id; never changed

	counts map[Outcome]*atomic.Int64 // see Stats; the map never changes
}

// New returns a scheduler, which sends nothing before Run.
func New(o Options) *Scheduler {
	o.Zone = cmp.Or(o.Zone, time.Local)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Scheduler{o: o, wake: wait.NewSignal(), prechecking: map[string]bool{}, prechecked: make(chan string), runners: map[string]*runner{}}
	s.counts = map[Outcome]*atomic.Int64{Sent: {}, Skipped: {}, Missed: {}, Refused: {}}
	for _, b := range o.BuiltIns {
		s.runners[b.ID] = newRunner(s, b)
	}
	return s
}

// now returns the wall clock time without the monotonic reading, which is wrong after a
// sleep of the machine.
func (s *Scheduler) now() time.Time { return s.o.Now().Round(0) }

// Run sends due messages until ctx ends, and returns after all goroutines have ended.
// Run is called once. The next process continues the work interrupted by ctx.
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
		case <-s.wake:
		case <-timer.C:
		}
		if pause := s.poll(ctx); pause > 0 {
			timer.Reset(pause)
		} else {
			timer.Stop() // until a job is added
		}
	}
}

// poll processes all due jobs and returns the time until the next poll; 0 means until a
// job is added.
func (s *Scheduler) poll(ctx context.Context) (pause time.Duration) {
	if s.now().Year() < firstYear {
		return pollInterval
	}
	jobs, err := s.o.Store.Jobs(ctx)
	if err != nil {
		s.logRetry(ctx, "read schedules", err)
		return retryDelay
	}
	s.prune(ctx)
	pause = pollInterval
	for i := range jobs {
		j := &jobs[i]
		if ctx.Err() != nil {
			return retryDelay
		}
		early := j.DecidedTo.After(s.now())
		if !j.DoneAt.IsZero() && !early || j.Paused || s.prechecking[j.ID] {
			continue
		}
		next, err := s.process(ctx, j)
		if err != nil {
			s.logRetry(ctx, "schedule "+j.ID, err)
			next = s.now().Add(retryDelay)
		}
		if !next.IsZero() {
			pause = min(pause, max(next.Sub(s.now()), time.Millisecond))
		}
	}
	if len(jobs) == 0 && len(s.runners) == 0 {
		return 0
	}
	return pause
}

// logRetry logs an operation to be retried, unless the process is ending.
func (s *Scheduler) logRetry(ctx context.Context, what string, err error) {
	if ctx.Err() == nil && !errors.Is(err, core.ErrClosed) {
		s.o.Log.Error("schedules: not done yet", "what", what, "err", err, "retry_in", retryDelay)
	}
}

// prune deletes occurrences and done jobs past their retention.
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

// process handles the due occurrences of a job and returns the next due time, zero if no
// due time follows or a precheck must end first.
func (s *Scheduler) process(ctx context.Context, j *Job) (next time.Time, err error) {
	t, err := timesOf(j, s.o.Zone)
	if err != nil {
		return time.Time{}, err
	}
	now := s.now()
	if j.DecidedTo.After(now) { // recurring occurrences that were not missed keep their outcomes
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
	d := decision{job: *j, times: t, to: due[len(due)-1]}
	if d.due, err = classify(due, more, now, j.Missed); err != nil {
		return time.Time{}, err
	}
	if err := s.skipDecided(ctx, &d); err != nil {
		return time.Time{}, err
	}
	if d.unsent() != nil && j.Precheck != "" {
		s.startPrecheck(ctx, d)
		return time.Time{}, nil
	}
	if err := s.commit(ctx, &d); err != nil {
		return time.Time{}, err
	}
	return t.next(now), nil
}
