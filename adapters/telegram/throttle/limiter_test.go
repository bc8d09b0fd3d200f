package throttle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/wait"
)

// A trouble is an error that carries the pause of the chat.
type trouble time.Duration

func (e trouble) Error() string { return time.Duration(e).String() }

// A rig is a Limiter with a log of the sends.
type rig struct {
	*Limiter
	t     *testing.T
	start time.Time

	mu   sync.Mutex // guards the fields below
	log  []string   // name and moment of each send, and each error
	took time.Duration
}

// in runs a test with a Limiter and a clock of its own.
func in(t *testing.T, test func(*testing.T, *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pause := func(err error) time.Duration {
			d, _ := errors.AsType[trouble](err)
			return time.Duration(d)
		}
		test(t, &rig{Limiter: New(pause), t: t, start: time.Now()})
		synctest.Wait()
	})
}

// send sends in the background; the first sends fail with errs. send returns when the send
// has begun or waits.
func (r *rig) send(ctx context.Context, name string, chat int64, class Class, errs ...error) {
	go func() {
		for more := true; more; {
			more = len(errs) > 0
			err := r.Do(ctx, chat, class, func() error {
				r.note(name, nil)
				time.Sleep(r.took)
				if more {
					return errs[0]
				}
				return nil
			})
			if more {
				errs = errs[1:]
			} else if err != nil {
				r.note(name, err)
			}
		}
	}()
	synctest.Wait()
}

func (r *rig) note(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%s %v", name, time.Since(r.start))
	if err != nil {
		line = name + ": " + err.Error()
	}
	r.log = append(r.log, line)
}

// want compares the log, in the order of the moments, and clears the log.
func (r *rig) want(lines ...string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.log, lines) {
		r.t.Errorf("sent:\n%q, want\n%q", r.log, lines)
	}
	r.log = nil
}

// TestPauses: a pause that Telegram asks for holds the chat alone, exactly that long, and no
// burst follows. The pause may be from an earlier process.
func TestPauses(t *testing.T) {
	for name, earlier := range map[string]bool{"asked now": false, "asked of an earlier process": true} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, r *rig) {
				if earlier {
					r.Hold(1, r.start.Add(7*time.Second))
					r.send(t.Context(), "a", 1, Durable)
				} else {
					r.send(t.Context(), "a", 1, Durable, trouble(7*time.Second))
					r.want("a 0s")
				}
				r.send(t.Context(), "other", 2, Durable)
				r.send(t.Context(), "b", 1, Durable)
				r.send(t.Context(), "typing", 1, Hint)
				r.send(t.Context(), "status", 1, Progress)
				time.Sleep(time.Minute)
				r.want("other 0s", "typing: dropped because of limits", "a 7s", "b 8s", "status 10s")
			})
		})
	}
}

// TestTurns: the longest waiting goes first, Durable before Progress, and a chat sends one
// Durable at a time.
func TestTurns(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		r.limits.global = limit{1, time.Second}
		r.took = 1500 * time.Millisecond
		for _, s := range []struct {
			name  string
			chat  int64
			class Class
		}{{"first", 9, Durable}, {"status", 1, Progress}, {"a1", 1, Durable}, {"a2", 1, Durable}, {"b1", 2, Durable}, {"c1", 3, Durable}} {
			r.send(t.Context(), s.name, s.chat, s.class)
		}
		time.Sleep(time.Minute)
		r.want("first 0s", "a1 1s", "b1 2s", "a2 3s", "c1 4s", "status 5s")
	})
}

// TestDurableNeedsNoRoomOfProgress: Progress leaves tokens and room for answers.
func TestDurableNeedsNoRoomOfProgress(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		r.took = time.Minute // Progress hangs
		for chat := range int64(9) {
			r.send(t.Context(), "status", chat, Progress)
			r.send(t.Context(), "text", chat, Progress)
		}
		if len(r.log) != 8 {
			t.Errorf("%q is in flight", r.log)
		}
		r.log, r.took = nil, 0
		r.send(t.Context(), "typing", 30, Hint)
		r.send(t.Context(), "a", 0, Durable)
		r.send(t.Context(), "b", 8, Durable)
		r.want("typing: dropped because of limits", "a 0s", "b 0s")
		time.Sleep(time.Hour)
	})
}

func TestHints(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		for _, name := range []string{"h1", "h2", "h3", "h4"} {
			r.send(t.Context(), name, 1, Hint)
		}
		time.Sleep(time.Second)
		r.send(t.Context(), "h5", 1, Hint)
		r.send(t.Context(), "a", 1, Durable)
		r.want("h1 0s", "h2 0s", "h3 0s", "h4: dropped because of limits", "h5 1s", "a 1s")
	})
}

// TestWithdraw: what waits ends with its context, and what has begun goes on.
func TestWithdraw(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		r.took = 5 * time.Second
		ctx, cancel := context.WithCancelCause(t.Context())
		r.send(ctx, "begun", 1, Progress)
		r.send(ctx, "waits", 1, Progress)
		cancel(errors.New("withdrawn"))
		synctest.Wait()
		r.send(ctx, "late", 1, Progress)
		r.want("begun 0s", "waits: withdrawn", "late: withdrawn")
		r.send(t.Context(), "next", 1, Progress)
		time.Sleep(time.Minute)
		r.want("next 5s")
	})
}

// TestIdleChatsAreForgotten: what is kept does not grow with the number of chats ever
// served.
func TestIdleChatsAreForgotten(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		for chat := range int64(10_000) {
			if err := r.Do(t.Context(), chat, Durable, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(r.chats); n > 400 {
			t.Errorf("%d chats are kept", n)
		}
	})
}

// TestRandomTraffic sends at random, with failures at random. No limit is exceeded in any
// span of time, nothing begins during a pause, Durable sends of a chat do not overlap, and
// all are sent in the end.
func TestRandomTraffic(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			in(t, func(t *testing.T, r *rig) { newTraffic(t, r, seed).run() })
		})
	}
}

// A traffic plays senders and Telegram.
type traffic struct {
	t     *testing.T
	r     *rig
	rnd   *rand.Rand
	calm  bool
	began map[string][]time.Time // by limit
	held  map[int64]time.Time
	busy  map[string]int // sends in flight, by chat and class
}

func newTraffic(t *testing.T, r *rig, seed uint64) *traffic {
	w := &traffic{
		t: t, r: r, rnd: rand.New(rand.NewPCG(seed, 7)),
		began: map[string][]time.Time{}, held: map[int64]time.Time{}, busy: map[string]int{},
	}
	limit := func() limit {
		return limit{1 + w.rnd.IntN(5), time.Duration(1+w.rnd.IntN(2000)) * time.Millisecond}
	}
	r.limits = limits{
		global: limit(), private: limit(), group: limit(), hint: limit(), inFlight: 1 + w.rnd.IntN(16),
	}
	r.limits.global.every /= 10
	return w
}

func (w *traffic) run() {
	var all sync.WaitGroup
	rnd := rand.New(rand.NewPCG(w.rnd.Uint64(), 7)) // of this goroutine
	for range 200 {
		chat, class := int64(rnd.IntN(8)-4), Class(rnd.IntN(int(classes)))
		all.Go(func() { w.send(chat, class) })
		time.Sleep(time.Duration(rnd.IntN(400)) * time.Millisecond)
	}
	w.r.mu.Lock()
	w.calm = true
	w.r.mu.Unlock()
	all.Wait()
}

// send sends until sent, if Durable, and else once.
func (w *traffic) send(chat int64, class Class) {
	for {
		err := w.r.Do(w.t.Context(), chat, class, func() error {
			took, err := w.begins(chat, class)
			time.Sleep(took)
			w.ends(chat, class, err)
			return err
		})
		if err == nil || class != Durable {
			return
		}
	}
}

// begins checks a send that begins, and returns its duration and its result.
func (w *traffic) begins(id int64, class Class) (took time.Duration, err error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	now, key := time.Now(), fmt.Sprint(id, class)
	if now.Before(w.held[id]) {
		w.t.Errorf("class %d of chat %d begins in a pause", class, id)
	}
	if w.busy[key]++; class != Hint && w.busy[key] > 1 {
		w.t.Errorf("class %d of chat %d begins beside another", class, id)
	}
	if w.busy["all"]++; w.busy["all"] > w.r.limits.inFlight {
		w.t.Errorf("%d are in flight", w.busy["all"])
	}
	w.within("global", w.r.limits.global, now)
	if class == Hint {
		w.within(fmt.Sprint("hints of ", id), w.r.limits.hint, now)
	} else {
		w.within(fmt.Sprint("chat ", id), w.r.limitOf(&chat{id: id}), now)
	}
	took = time.Duration(w.rnd.IntN(3000)) * time.Millisecond
	if n := w.rnd.IntN(8); n < 4 && !w.calm {
		err = trouble(time.Duration(n*w.rnd.IntN(9)) * time.Second)
	}
	return took, err
}

func (w *traffic) ends(chat int64, class Class, err error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.busy[fmt.Sprint(chat, class)]--
	w.busy["all"]--
	if pause, ok := errors.AsType[trouble](err); ok {
		w.held[chat] = wait.Latest(w.held[chat], time.Now().Add(time.Duration(pause)))
	}
}

// within checks that no span of time that ends now exceeds a limit.
func (w *traffic) within(what string, l limit, now time.Time) {
	w.began[what] = append(w.began[what], now)
	all := w.began[what]
	for i, from := range all {
		if n, most := len(all)-i, l.burst+int(now.Sub(from)/l.every); n > most {
			w.t.Errorf("%d of %s in %v, want at most %d", n, what, now.Sub(from), most)
			return
		}
	}
}
