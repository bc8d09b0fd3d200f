package precheck

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		line   string
		status int
		said   string
	}{
		{"echo one; echo two", 0, "two"},
		{"true", 0, ""},
		{"pwd; exit 7", 7, dir},
		{"echo gone >&2; false", 1, "gone"},
		{"sleep 60 & exit 3", 3, ""},                  // which holds its output
		{"sleep 60 & echo something", 0, "something"}, // likewise
	} {
		r, err := Run(t.Context(), c.line, dir, os.Environ(), time.Minute)
		if err != nil || r.Status != c.status || !strings.Contains(r.Said, c.said) {
			t.Errorf("%s: %+v, %v; want %d, %q", c.line, r, err, c.status, c.said)
		}
	}
}

// TestThatCannotBeRun tells a command that is not there from one that finds nothing to
// do: nobody would notice otherwise.
func TestThatCannotBeRun(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"no-such-command-here", "/etc/passwd", "kill -9 $$"} {
		if r, err := Run(t.Context(), line, t.TempDir(), os.Environ(), time.Minute); err == nil {
			t.Errorf("%s: %+v", line, r)
		}
	}
}

// TestThatHangs ends one that takes too long, with what it has started.
func TestThatHangs(t *testing.T) {
	t.Parallel()
	began := time.Now()
	_, err := Run(t.Context(), "sleep 300 & wait", t.TempDir(), os.Environ(), 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "took longer than 50ms") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(ctx, "true", t.TempDir(), os.Environ(), time.Minute); err == nil {
		t.Errorf("after its caller was ended: %+v", r)
	}
}
