package wait

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestBackoff: pauses double up to the bound, from the first one again after a success.
func TestBackoff(t *testing.T) {
	t.Parallel()
	b := Backoff{First: time.Second, Most: 5 * time.Second}
	for range 2 {
		var got []time.Duration
		for range 5 {
			got = append(got, b.Next()/time.Second)
		}
		if want := []time.Duration{1, 2, 4, 5, 5}; !slices.Equal(got, want) {
			t.Errorf("the pauses are %v, want %v", got, want)
		}
		if b.Failures() != 5 {
			t.Errorf("%d failures, want 5", b.Failures())
		}
		b.Reset()
		if b.Failures() != 0 {
			t.Errorf("%d failures after a success", b.Failures())
		}
	}
}

// TestBackoffStaysBounded: the pause stays at the bound however many failures there are.
func TestBackoffStaysBounded(t *testing.T) {
	t.Parallel()
	b := Backoff{First: time.Millisecond, Most: time.Hour}
	for range 1000 {
		b.Next()
	}
	if got := b.Next(); got != time.Hour {
		t.Errorf("the pause is %v", got)
	}
}

// TestBackoffOfProcesses: a process that ran for long ends the row of failures.
func TestBackoffOfProcesses(t *testing.T) {
	t.Parallel()
	b := Backoff{First: time.Second, Most: time.Minute, Steady: time.Minute}
	for _, c := range []struct{ ran, want time.Duration }{
		{0, time.Second},
		{time.Minute, 2 * time.Second},
		{time.Hour, time.Second},
		{time.Second, 2 * time.Second},
	} {
		if got := b.NextAfter(c.ran); got != c.want {
			t.Errorf("after %v the pause is %v, want %v", c.ran, got, c.want)
		}
	}
	never := Backoff{First: time.Second, Most: time.Minute}
	never.Next()
	if got := never.NextAfter(time.Hour); got != 2*time.Second {
		t.Errorf("without a steady time the pause is %v", got)
	}
}

// TestBackoffJitter: a pause is shorter by a random part, and the next one doubles all of it.
func TestBackoffJitter(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]struct{}{}
	for range 100 {
		b := Backoff{First: time.Second, Most: time.Minute, Jitter: 0.25}
		for want := time.Second; want < time.Minute; want *= 2 {
			got := b.Next()
			if got > want || got < want*3/4 {
				t.Fatalf("the pause is %v, want between three quarters of %v and that", got, want)
			}
			seen[got] = struct{}{}
		}
	}
	if len(seen) < 10 {
		t.Errorf("all pauses are among %d", len(seen))
	}
}

func TestBackoffSleep(t *testing.T) {
	t.Parallel()
	elapsed(t, time.Minute, func(ctx context.Context) {
		b := Backoff{First: 15 * time.Second, Most: time.Hour}
		first := b.Sleep(ctx)
		second := b.Sleep(ctx)
		third := b.Sleep(ctx)
		if first != nil || second != nil || !errors.Is(third, errEnough) {
			t.Errorf("Sleep = %v, %v, %v", first, second, third)
		}
	})
}
