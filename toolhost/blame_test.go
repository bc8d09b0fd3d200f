package toolhost

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestBlamesNobody: whom the end of a tool host speaks against. The one file whose tool runs is not to blame where other
// code could not be interrupted, where other calls run, or where the tool host was killed because it did not answer.
func TestBlamesNobody(t *testing.T) {
	t.Parallel()
	innocent, other := api.File{Name: "innocent.ts", Sum: "1"}, api.File{Name: "new.ts"}
	for name, c := range map[string]struct {
		happens func(c *child, says *logWriter)
		blamed  api.File
		why     cause
	}{
		"its call":               {func(*child, *logWriter) {}, innocent, isKnownCrash},
		"no call":                {func(c *child, _ *logWriter) { c.calls.end(innocent) }, api.File{}, isUnknown},
		"another call of it":     {func(c *child, _ *logWriter) { c.calls.begin(innocent) }, innocent, isKnownCrash},
		"a call of a built-in":   {func(c *child, _ *logWriter) { c.calls.begin(api.File{}) }, api.File{}, isKnownCrash},
		"code without a file":    {func(_ *child, w *logWriter) { w.record(recordOf(api.MessageStuck, api.File{})) }, api.File{}, isStuck},
		"its code":               {func(_ *child, w *logWriter) { w.record(recordOf(api.MessageStuck, innocent)) }, innocent, isStuck},
		"other code":             {func(_ *child, w *logWriter) { w.record(recordOf(api.MessageStuck, other)) }, other, isStuck},
		"it does not answer":     {func(c *child, _ *logWriter) { c.hung = true }, api.File{}, isKnownCrash},
		"another file is loaded": {func(_ *child, w *logWriter) { w.record(recordOf(api.MessageLoading, other)) }, api.File{}, isKnownCrash},
		"only that": {func(c *child, w *logWriter) {
			c.calls.end(innocent)
			w.record(recordOf(api.MessageLoading, other))
		}, other, isKnownCrash},
	} {
		ended := &child{}
		ended.calls.begin(innocent)
		says := &logWriter{log: slog.New(slog.DiscardHandler)}
		c.happens(ended, says)
		ended.loading, ended.stuck = says.loading, says.stuck
		if culprit, why := ended.explain(); culprit != c.blamed || why != c.why {
			t.Errorf("%s: %v is blamed (%d), want %v (%d)", name, culprit, why, c.blamed, c.why)
		}
	}
}

// TestSuspects: a file is left out at the second end that it is blamed for, with the reason, and no other version of
// it is.
func TestSuspects(t *testing.T) {
	t.Parallel()
	slow, loads := api.File{Name: "slow.ts", Sum: "1"}, api.File{Name: "loads.ts", Sum: "1"}
	s := suspects{}
	if s.blame(slow, isStuck) || s.blame(api.File{Name: "slow.ts", Sum: "2"}, isStuck) || s.blame(loads, isKnownCrash) || s.skipped() != nil {
		t.Errorf("left out after one end: %v", s.skipped())
	}
	if !s.blame(slow, isStuck) || s.blame(slow, isStuck) {
		t.Error("it is not told once that the file is left out")
	}
	skipped := s.skipped()
	if len(skipped) != 1 || skipped[0].File != slow || !strings.Contains(skipped[0].Why, "could twice not be interrupted") {
		t.Errorf("left out are %v", skipped)
	}
}

// TestPauses: pauses grow from crash to crash, until somebody does something about it, the tool host runs for long, or
// the tools are rolled back; where rollbacks do not help, they grow on.
func TestPauses(t *testing.T) {
	t.Parallel()
	p := newPauses()
	next := func(want ...time.Duration) {
		t.Helper()
		for _, w := range want {
			if got := p.next(); got != w {
				t.Errorf("the pause is %s, want %s", got, w)
			}
		}
	}
	const ms = time.Millisecond
	next(0, 50*ms, 100*ms, 200*ms, 400*ms, 800*ms, 1600*ms)
	p.reset()
	next(0, 50*ms)
	p.rolledBack()
	next(0, 50*ms)
	p.rolledBack()
	next(100*ms, 200*ms)
	for range 20 {
		p.next()
	}
	next(maxPause)
	p.reset()
	p.rolledBack()
	next(0)
}

// TestCannotRun: the state tells why a tool host ends as soon as it starts.
func TestCannotRun(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "unfiltered")
	record := `{"level":"ERROR","msg":"` + api.MessageCannotRun + `","err":"filter system calls: not implemented"}`
	check.OK(t, os.WriteFile(bin, []byte("#!/bin/sh\necho '"+record+"' >&2\nexit 1\n"), 0o700))
	r := start(t, func(o *Options) { o.Self = bin })
	r.eventually("the reason", func() bool {
		return strings.Contains(r.now().Problem, "The tool host does not run: exit status 1: filter system calls: not implemented")
	})
}

// recordOf returns a line of the tool host's log.
func recordOf(message string, f api.File) []byte {
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info(message, "file", f) //nolint:sloglint // a constant of both ends
	return b.Bytes()
}

// TestHangs: a tool host that is killed because it does not answer costs no file its tool, and is no reason for
// a rollback, however often that is.
func TestHangs(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("innocent.ts", file("innocent", "Innocent", "console.log('begun'); await new Promise((done) => setTimeout(done, 600_000));"))
	r.offers("innocent", "Innocent")
	for n := 1; n <= maxBlamed; n++ {
		var calls sync.WaitGroup
		calls.Go(func() { r.refuses("innocent", `{}`, "may have had effects") })
		r.eventually("the call begins", func() bool { return strings.Count(r.log.String(), "line=begun") == n })
		c, _ := r.state.now()
		check.OK(t, syscall.Kill(c.pid, syscall.SIGSTOP))
		calls.Wait()
		r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
		r.offers("innocent", "Innocent")
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.restarts != maxBlamed || r.state.unexplained != 0 {
		t.Errorf("%d crashes, of which %d count towards a rollback", r.state.restarts, r.state.unexplained)
	}
}
