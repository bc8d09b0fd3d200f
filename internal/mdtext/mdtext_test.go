package mdtext

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Millisecond: "0.1 s", 400 * time.Millisecond: "0.4 s", 59 * time.Second: "59 s", 61 * time.Second: "1 min 1 s", 26 * time.Hour: "1 d 2 h", 61 * time.Minute: "1 h 1 min",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
