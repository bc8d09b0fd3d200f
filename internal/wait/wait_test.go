package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errEnough = errors.New("enough")

// elapsed runs f on a clock of its own, with a context that ends after a minute, and compares
// how long f took.
func elapsed(t *testing.T, want time.Duration, f func(ctx context.Context)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errEnough)
		defer cancel()
		began := time.Now()
		f(ctx)
		if took := time.Since(began); took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
	})
}

func TestSleep(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]error{time.Second: nil, time.Hour: errEnough} {
		elapsed(t, min(d, time.Minute), func(ctx context.Context) {
			if err := Sleep(ctx, d); !errors.Is(err, want) {
				t.Errorf("Sleep(%v) = %v, want %v", d, err, want)
			}
		})
	}
}

func TestPoll(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		calls int // the last call
		err   error
		took  time.Duration
		want  error
	}{
		"done at once": {calls: 1},
		"done":         {calls: 3, took: 2 * time.Second},
		"failed":       {calls: 3, err: failed, took: 2 * time.Second, want: failed},
		"never":        {calls: 1000, took: time.Minute, want: errEnough},
	} {
		elapsed(t, c.took, func(ctx context.Context) {
			calls := 0
			err := Poll(ctx, time.Second, func() (bool, error) {
				if calls++; calls < c.calls {
					return false, nil
				}
				return c.err == nil, c.err
			})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		})
	}
}

// TestSignal: signals before the goroutine looks wake it once, and none is lost.
func TestSignal(t *testing.T) {
	t.Parallel()
	s := NewSignal()
	s.Send()
	s.Send()
	<-s
	select {
	case <-s:
		t.Error("two signals wake twice")
	default:
	}
	s.Send()
	<-s
}

func TestIsClosed(t *testing.T) {
	t.Parallel()
	c := make(chan struct{})
	if IsClosed(c) || IsClosed(nil) {
		t.Error("an open channel is closed")
	}
	if close(c); !IsClosed(c) {
		t.Error("a closed channel is open")
	}
}

func TestEarliestAndLatest(t *testing.T) {
	t.Parallel()
	a, b := time.Unix(1, 0), time.Unix(2, 0)
	if got := Earliest(time.Time{}, b, a, time.Time{}); !got.Equal(a) {
		t.Errorf("Earliest = %v", got)
	}
	if got := Latest(a, b, time.Time{}); !got.Equal(b) {
		t.Errorf("Latest = %v", got)
	}
	if !Earliest(time.Time{}).IsZero() || !Earliest().IsZero() || !Latest().IsZero() {
		t.Error("a moment of none")
	}
}
