package humanize

import (
	"testing"
	"time"
)

func TestSpans(t *testing.T) {
	t.Parallel()
	if now := time.Now(); Ago(now, now) != "just now" || Ago(now.Add(-time.Minute), now) != "1m ago" {
		t.Errorf("a moment ago is %q, a minute is %q", Ago(now, now), Ago(now.Add(-time.Minute), now))
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 12 * time.Millisecond: "12ms", 1900 * time.Millisecond: "1.9s", 9999 * time.Millisecond: "9.9s", 59*time.Second + 999*time.Millisecond: "59s",
		61 * time.Second: "1m01s", 25 * time.Hour: "1d01h", 90 * time.Minute: "1h30m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("span(%s) = %s, want %s", d, got, want)
		}
	}
	now := time.Now()
	for d, want := range map[time.Duration]string{0: "now", 2 * time.Second: "2s", 90 * time.Second: "1m", 3 * time.Hour: "3h00m"} {
		if got := Age(now.Add(-d), now); got != want {
			t.Errorf("age(%s) = %s, want %s", d, got, want)
		}
	}
	if got := Age(time.Time{}, now); got != "" {
		t.Errorf("age of nothing is %s", got)
	}
	if a, b := Count(1, "delivery"), Count(0, "delivery"); a != "1 delivery" || b != "0 deliveries" {
		t.Errorf("%s, %s", a, b)
	}
}
