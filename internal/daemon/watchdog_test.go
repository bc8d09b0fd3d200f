package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A pinged is a watchdog of a daemon that a test plays, in a bubble.
type pinged struct {
	*watchdog
	leave func() // ends the daemon's life
	log   lockedBuffer

	mu   sync.Mutex      // protects the field below
	told []time.Duration // since the beginning
}

// guard runs a watchdog with an interval of 30 s for as long as the test.
func pings(t *testing.T, check func(ctx context.Context) error) *pinged {
	t.Helper()
	g := &pinged{}
	began := time.Now()
	life, leave := context.WithCancel(t.Context())
	ctx, rest := context.WithCancel(t.Context())
	g.leave = leave
	g.watchdog = &watchdog{
		every: 10 * time.Second, check: check, tell: func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.told = append(g.told, time.Since(began))
		},
		log: slog.New(slog.NewTextHandler(&g.log, nil)),
	}
	go g.run(ctx, life) // ends with the test
	t.Cleanup(func() { leave(); rest(); synctest.Wait() })
	synctest.Wait()
	return g
}

// after lets time pass and fails unless it was told so often since the last time.
func (g *pinged) after(t *testing.T, d time.Duration, times int) {
	t.Helper()
	g.mu.Lock()
	g.told = nil
	g.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.told) != times {
		t.Errorf("told at %v, want %d times in %s", g.told, times, d)
	}
}

// TestWatchdogIsToldOfLife has a daemon answer, quickly or slowly, be in trouble, and
// answer again.
func TestWatchdogIsToldOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64 // nanoseconds
		var trouble atomic.Pointer[error]
		g := pings(t, func(ctx context.Context) error {
			select {
			case <-time.After(time.Duration(takes.Load())):
				if err := trouble.Load(); err != nil {
					return *err
				}
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		g.after(t, time.Minute+time.Second, 6)
		takes.Store(int64(15 * time.Second)) // the next one begins at once
		g.after(t, 2*time.Minute, 7)
		takes.Store(0)
		inTrouble := errors.New("in trouble")
		trouble.Store(&inTrouble)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		g.after(t, time.Minute, 0)
		if !strings.Contains(g.log.String(), "in trouble") {
			t.Errorf("the log says %q", g.log.String())
		}
		trouble.Store(nil)
		g.after(t, time.Minute, 6)
		takes.Store(int64(time.Hour))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		g.after(t, 10*time.Minute, 0)
		g.leave()                                         // while a check is under way
		g.after(t, leaveGrace, int(leaveGrace/g.every)+2) // at once, for the tick that passed meanwhile, and at each tick
		g.after(t, 10*time.Minute, 0)
		if !strings.Contains(g.log.String(), "has not left") {
			t.Errorf("the log says %q", g.log.String())
		}
	})
}

// TestWatchdogOfWhatIsStuck has a check that never ends: nothing is told, and nothing
// is begun again.
func TestWatchdogOfWhatIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks, release := 0, make(chan struct{})
		g := pings(t, func(context.Context) error { checks++; <-release; return nil })
		g.after(t, time.Hour+time.Second, 0)
		if checks != 1 {
			t.Errorf("%d checks", checks)
		}
		close(release)
		synctest.Wait()
		if n := len(g.told); n != 2 { // the one that was stuck, and the one that was due
			t.Errorf("told %d times", n)
		}
		g.after(t, time.Minute, 6)
	})
}

// lockedBuffer is a buffer that several goroutines may use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
