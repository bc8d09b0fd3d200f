package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A rig is a running Scheduler and what was done by it.
type rig struct {
	*Scheduler
	t     *testing.T
	start time.Time
	stop  context.CancelCauseFunc
	ended chan error

	mu   sync.Mutex // guards what follows
	log  []string   // what began, with the seconds since the start, and what Done was told
	took time.Duration
	fail map[string][]error // what the next tries of a job return
}

var errStop = errors.New("stop")

// A trouble is an error that carries its verdict.
type trouble struct{ Verdict }

func (e trouble) Error() string { return fmt.Sprintf("%+v", e.Verdict) }

// in runs a test with a Scheduler of its own, in a time of its own.
func in(t *testing.T, o Options, test func(*testing.T, *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o.Classify = func(err error) Verdict {
			if errors.Is(err, context.Canceled) {
				return Verdict{Global: true, Ambiguous: true} // as of any connection that is lost
			}
			v, _ := errors.AsType[trouble](err)
			return v.Verdict
		}
		o.Random = func() float64 { return 0 }
		ctx, stop := context.WithCancelCause(t.Context())
		r := &rig{Scheduler: New(o), t: t, start: time.Now(), stop: stop, ended: make(chan error, 1), fail: map[string][]error{}}
		go func() { r.ended <- r.Run(ctx) }()
		test(t, r)
		stop(errStop)
		if err := <-r.ended; !errors.Is(err, errStop) {
			t.Errorf("Run ended with %v, want its context's cause", err)
		}
	})
}

// job is one that takes the rig's time and fails as the rig says.
func (r *rig) job(name string, chat int64, class Class) Job {
	return Job{
		Chat: chat, Class: class,
		Do:   func(ctx context.Context, try Try) error { return r.do(ctx, name, try) },
		Done: func(err error) { r.note(name, err) },
	}
}

func (r *rig) do(ctx context.Context, name string, try Try) error {
	r.mu.Lock()
	line := fmt.Sprintf("%s %v", name, time.Since(r.start))
	if try.Number > 1 || try.Unsure > 0 {
		line += fmt.Sprintf(" try %d unsure %d", try.Number, try.Unsure)
	}
	r.log = append(r.log, line)
	took := r.took
	var err error
	if errs := r.fail[name]; len(errs) > 0 {
		err, r.fail[name] = errs[0], errs[1:]
	}
	r.mu.Unlock()
	select {
	case <-time.After(took):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// takes says how long jobs take from now on, and forgets what was done.
func (r *rig) takes(d time.Duration) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took, r.log = d, nil
}

func (r *rig) note(name string, err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf("%s: %v", name, err))
}

func (r *rig) submit(jobs ...Job) {
	r.t.Helper()
	for _, j := range jobs {
		if err := r.Submit(j); err != nil {
			r.t.Error(err)
		}
	}
}

// want checks what was done and told since it was last called. What happens at
// one moment has no order.
func (r *rig) want(lines ...string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.log)
	slices.Sort(lines)
	if !slices.Equal(r.log, lines) {
		r.t.Errorf("done and told:\n%q, want\n%q", r.log, lines)
	}
	r.log = nil
}

func TestWaitIsObeyedExactly(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		r.fail["a"] = []error{trouble{Verdict{Kind: Wait, For: 7 * time.Second}}}
		p := r.job("p", 1, Progress)
		p.Key = "status"
		r.submit(r.job("a", 1, Durable), r.job("b", 1, Durable), r.job("other", 2, Durable), p)
		synctest.Wait()
		if s := r.Stats(); s.HeldChats != 1 || s.Limited != 1 || s.Retried != 0 || s.Waiting[Durable] != 2 || s.Oldest != r.start {
			t.Errorf("%+v", s)
		}
		newer := r.job("newer", 1, Progress)
		newer.Key = "status"
		r.submit(newer)
		time.Sleep(time.Minute)
		r.want("a 0s", "other 0s", "p: replaced by a newer one", "a 7s", "b 8s", "newer 10s")
	})
}

// A wait that an earlier process was told is kept for all that the chat has limits for,
// and followed by no burst.
func TestHoldKeepsAWaitOfBefore(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		r.Hold(1, false, r.start.Add(7*time.Second))
		r.submit(r.job("a", 1, Durable), r.job("b", 1, Durable), r.job("other", 2, Durable), r.job("typing", 1, Hint))
		if n := r.Stats().HeldChats; n != 1 {
			t.Errorf("%d chats are held", n)
		}
		time.Sleep(time.Minute)
		r.want("other 0s", "typing: dropped because of limits", "a 7s", "b 8s")
		if n := r.Stats().HeldChats; n != 0 {
			t.Errorf("%d chats are held", n)
		}
	})
}

func TestWaitOfTheBotHoldsAll(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		r.fail["a"] = []error{trouble{Verdict{Kind: Wait, For: 3 * time.Second, Global: true}}}
		r.submit(r.job("a", 1, Durable))
		synctest.Wait()
		r.submit(r.job("b", 2, Durable), r.job("typing", 2, Hint))
		synctest.Wait()
		if until := r.Stats().HeldUntil; until != r.start.Add(3*time.Second) {
			t.Errorf("held until %v", until)
		}
		time.Sleep(time.Minute)
		r.want("a 0s", "typing: dropped because of limits", "a 3s", "b 3.05s")
	})
}

func TestRetriesUntilGivenUp(t *testing.T) {
	in(t, Options{Durable: Bounds{Tries: 4, Age: time.Hour}}, func(t *testing.T, r *rig) {
		lost := trouble{Verdict{Ambiguous: true}}
		r.fail["a"] = []error{lost, trouble{}, nil}
		r.fail["b"] = slices.Repeat([]error{trouble{}}, 9)
		r.fail["c"] = []error{trouble{Verdict{Kind: Permanent}}}
		r.fail["old"] = []error{trouble{}}
		r.fail["p"] = []error{trouble{}}
		b, old := r.job("b", 1, Durable), r.job("old", 3, Durable)
		b.Tried = 1
		old.Since = time.Now().Add(-time.Hour)
		r.submit(r.job("a", 1, Durable), b, r.job("c", 2, Durable), r.job("p", 4, Progress))
		r.submit(old)
		time.Sleep(time.Hour)
		synctest.Wait()
		for _, want := range []string{
			"a 1s try 2 unsure 1", "a 3s try 3 unsure 1", "b 3s try 2 unsure 0", "b 4s try 3 unsure 0", "b 6s try 4 unsure 0",
			"b: given up after 4 tries: " + trouble{}.Error(), "c: " + trouble{Verdict{Kind: Permanent}}.Error(), "p: " + trouble{}.Error(),
			"old: given up after 1 tries: " + trouble{}.Error(),
		} {
			if !slices.Contains(r.log, want) {
				t.Errorf("no %q in %q", want, r.log)
			}
		}
		if s := r.Stats(); s.Sent[Durable] != 1 || s.Failed[Durable] != 3 || s.Failed[Progress] != 1 || s.Retried != 4 || s.Ambiguous != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestWaitWithoutATime(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		r.fail["a"] = []error{trouble{Verdict{Kind: Wait}}}
		r.submit(r.job("a", 1, Durable))
		time.Sleep(time.Minute)
		r.want("a 0s", "a 1s")
	})
}

// TestOneProbesForAll: while nothing is answered, a hundred chats are no more
// requests than one, and all go on with the first answer.
func TestOneProbesForAll(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		down := true
		requests, sent := 0, 0
		for chat := range int64(100) {
			r.submit(Job{Chat: chat, Do: func(context.Context, Try) error {
				r.mu.Lock()
				defer r.mu.Unlock()
				requests++
				if down {
					return trouble{Verdict{Global: true}}
				}
				return nil
			}, Done: func(error) { sent++ }})
		}
		time.Sleep(10 * time.Minute)
		r.mu.Lock()
		if requests != 10+14 || r.Stats().Outage != 1+14 { // those at once, and then after 1, 2, 4, … 32, 60, … 60 s
			t.Errorf("%d requests in ten minutes, %+v", requests, r.Stats())
		}
		down = false
		r.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s := r.Stats(); sent != 100 || s.Outage != 0 || s.Sent[Durable] != 100 {
			t.Errorf("%d sent, %+v", sent, s)
		}
	})
}

// TestOneThatBreaksConnections: a job that fails as an outage would does not keep
// others waiting.
func TestOneThatBreaksConnections(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		r.fail["poison"] = slices.Repeat([]error{trouble{Verdict{Global: true}}}, 1000)
		r.submit(r.job("poison", 1, Durable))
		time.Sleep(10 * time.Minute)
		for n := range int64(20) {
			at := time.Now()
			r.submit(Job{Chat: 2 + n, Do: func(context.Context, Try) error {
				if late := time.Since(at); n > 0 && late > 2*time.Second {
					t.Errorf("number %d is sent after %v", n, late)
				}
				return nil
			}})
			time.Sleep(time.Minute)
		}
		if s := r.Stats(); s.Sent[Durable] != 20 {
			t.Errorf("%+v", s)
		}
	})
}

func TestOnlyTheNewestProgress(t *testing.T) {
	in(t, Options{MaxProgress: 2}, func(t *testing.T, r *rig) {
		for n := range 50 {
			for _, key := range []string{"status", "text"} {
				j := r.job(fmt.Sprint(key, n), 1, Progress)
				j.Key = key
				j.Done = nil
				r.submit(j)
			}
			time.Sleep(99 * time.Millisecond)
		}
		r.want("status0 0s", "text0 0s", "status10 1s", "text20 2s", "status30 3s", "text40 4s")
		r.submit(r.job("x", 2, Progress), r.job("y", 2, Progress), r.job("z", 2, Progress))
		time.Sleep(3 * time.Second)
		r.want("x: dropped because of limits", "y 4.95s", "z 4.95s", "status49 5s", "text49 6s")
	})
}

// TestFinalsNeedNotWaitForProgress: neither for its tokens, nor for what is in
// flight, in any chat.
func TestFinalsNeedNotWaitForProgress(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		r.takes(time.Minute) // Progress hangs
		for chat := range int64(40) {
			r.submit(r.job("p", chat, Progress), r.job("p", chat, Progress))
		}
		synctest.Wait()
		if n := r.Stats().InFlight; n != 8 {
			t.Errorf("%d in flight", n)
		}
		r.takes(0)
		r.submit(r.job("a", 0, Durable), r.job("b", 39, Durable))
		r.want("a 0s", "b 0s")
	})
}

func TestProgressLeavesATokenOfTheBot(t *testing.T) {
	in(t, Options{Limits: Limits{Global: Limit{Burst: 3, Every: time.Second}}}, func(t *testing.T, r *rig) {
		r.submit(r.job("a", 1, Progress), r.job("b", 2, Progress), r.job("c", 3, Progress))
		synctest.Wait()
		r.submit(r.job("typing", 5, Hint), r.job("final", 4, Durable))
		time.Sleep(time.Minute)
		r.want("a 0s", "b 0s", "typing: dropped because of limits", "final 0s", "c 2s")
	})
}

func TestTurnsAreTaken(t *testing.T) {
	in(t, Options{Limits: Limits{Global: Limit{Burst: 1, Every: time.Second}, Private: Limit{Burst: 9, Every: 1}}}, func(t *testing.T, r *rig) {
		lane := func(j Job, lane int) Job { j.Lane = lane; return j }
		r.submit(r.job("first", 9, Durable))
		synctest.Wait()
		r.submit(
			r.job("progress", 1, Progress), r.job("ask", 4, Durable),
			r.job("page1", 1, Durable), r.job("page2", 1, Durable), r.job("page3", 1, Durable),
			lane(r.job("topic1", 1, Durable), 7), lane(r.job("topic2", 1, Durable), 7),
			r.job("other1", 2, Durable), r.job("other2", 2, Durable),
			r.job("before", 3, Durable), r.job("behind", 3, Durable),
		)
		time.Sleep(20 * time.Second)
		r.want("first 0s", "ask 1s", "page1 2s", "other1 3s", "before 4s", "topic1 5s", "other2 6s", "behind 7s",
			"page2 8s", "topic2 9s", "page3 10s", "progress 11s")
	})
}

func TestGroupsHaveLessThanPrivateChats(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		for n := range 30 {
			j := r.job(fmt.Sprint("g", n), 1, Durable)
			j.Group = true
			r.submit(j)
		}
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if n := r.Stats().Sent[Durable]; n != 19 { // the 20th is due at the full minute
			t.Errorf("%d were sent to a group in a minute", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := r.Stats().Sent[Durable]; n != 30 {
			t.Errorf("%d were sent to a group in two minutes", n)
		}
	})
}

func TestHintsGoAtOnceOrNotAtAll(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		r.takes(100 * time.Millisecond)
		draft := func(name string) Job {
			j := r.job(name, 1, Hint)
			j.Key = "draft"
			return j
		}
		r.submit(draft("d1"), draft("d2"), r.job("t1", 1, Hint))
		time.Sleep(150 * time.Millisecond)
		r.submit(draft("d3"), r.job("t2", 1, Hint), r.job("final", 1, Durable))
		time.Sleep(time.Minute)
		r.want("d1 0s", "d2: dropped because of limits", "d3 150ms", "final 150ms", "t1 0s", "t2: dropped because of limits")
	})
}

func TestCancelWaitsForWhatIsInFlight(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		r.takes(5 * time.Second)
		edit := func(name string) Job {
			j := r.job(name, 1, Progress)
			j.Key = "status"
			return j
		}
		told := false
		first := edit("first")
		first.Done = func(error) { told = true }
		r.submit(first)
		synctest.Wait()
		r.submit(edit("second"))
		soon, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := r.Cancel(soon, 1, "status"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Cancel while one is in flight: %v", err)
		}
		if err := r.Cancel(t.Context(), 1, "status"); err != nil || !told || time.Since(r.start) != 5*time.Second {
			t.Errorf("Cancel: %v after %v, told: %v", err, time.Since(r.start), told)
		}
		if err := r.Cancel(t.Context(), 2, "status"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		r.want("first 0s", "second: withdrawn")
		if s := r.Stats(); s.Skipped[Progress] != 1 || s.Sent[Progress] != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestTheEndTellsAll(t *testing.T) {
	in(t, Options{}, func(t *testing.T, r *rig) {
		r.takes(time.Minute)
		r.fail["refused"] = []error{trouble{}}
		jobs := []Job{r.job("flying", 1, Durable), r.job("behind", 1, Durable), r.job("status", 1, Progress), r.job("edit", 2, Progress)}
		refused := r.job("refused", 3, Durable)
		refused.Do = func(ctx context.Context, _ Try) error {
			<-ctx.Done()
			return trouble{Verdict{Kind: Permanent}}
		}
		done := r.job("done", 4, Durable)
		done.Do = func(ctx context.Context, _ Try) error {
			<-ctx.Done()
			return nil
		}
		r.submit(append(jobs, refused, done)...)
		synctest.Wait()
		r.submit(r.job("typing", 1, Hint))
		r.stop(errStop)
		r.ended <- <-r.ended // Run has ended
		slices.Sort(r.log)
		closed := ErrClosed.Error()
		cut := closed + ": context canceled"
		got := slices.DeleteFunc(slices.Clone(r.log), func(line string) bool { return line == "flying 0s" || line == "edit 0s" })
		want := []string{"behind: " + closed, "edit: " + cut, "flying: " + cut, "refused: " + trouble{Verdict{Kind: Permanent}}.Error(),
			"status: " + closed, "typing: " + closed}
		if !slices.Equal(got, want) {
			t.Errorf("told:\n%q, want\n%q", got, want)
		}
		if err := r.Submit(r.job("late", 1, Durable)); !errors.Is(err, ErrClosed) {
			t.Errorf("Submit after the end: %v", err)
		}
		if s := r.Stats(); s.InFlight != 0 || s.Waiting != [classes]int{} || s.Sent[Durable] != 1 || s.Failed[Durable] != 1 || s.Outage != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestManySubmitters has owners submit from their Done, cancel and look while jobs
// fail now and then: each lane's jobs succeed in order, each once.
func TestManySubmitters(t *testing.T) {
	const chats, each = 50, 40
	in(t, Options{Limits: Limits{Global: Limit{Burst: 1e6, Every: 1}}}, func(t *testing.T, r *rig) {
		var owners sync.WaitGroup
		for chat := range int64(chats) {
			owners.Add(1)
			next := 0
			var submit func()
			submit = func() {
				n, try := next, 0
				r.submit(Job{Chat: chat, Do: func(context.Context, Try) error {
					if try++; (n+try)%3 == 0 {
						return trouble{Verdict{Ambiguous: true, Global: n%2 == 0}}
					}
					return nil
				}, Done: func(err error) {
					if err != nil || n != next {
						t.Errorf("chat %d, job %d: %v, want job %d", chat, n, err, next)
					}
					if next++; next < each {
						submit()
					} else {
						owners.Done()
					}
				}})
			}
			go submit()
			go func() {
				for n := range each {
					j := r.job("", chat, Progress)
					j.Key, j.Done = "status", nil
					r.submit(j)
					time.Sleep(time.Second)
					if err := r.Cancel(t.Context(), chat, "status"); err != nil {
						t.Errorf("chat %d, cancel %d: %v", chat, n, err)
					}
				}
			}()
		}
		owners.Wait()
		if s := r.Stats(); s.Sent[Durable] != chats*each || s.Ambiguous == 0 {
			t.Errorf("%+v", s)
		}
	})
}
