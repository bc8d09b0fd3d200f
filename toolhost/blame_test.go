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

	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestBlamesNobody: the one file whose tool runs is not to blame where other code could not be stopped, where
// other calls run, or where the tool host was killed because it did not answer.
func TestBlamesNobody(t *testing.T) {
	t.Parallel()
	innocent := api.File{Name: "innocent.ts", Sum: "1"}
	for name, c := range map[string]struct {
		happens func(c *child, says *logWriter)
		blamed  api.File
	}{
		"its call":               {func(*child, *logWriter) {}, innocent},
		"another call of it":     {func(c *child, _ *logWriter) { c.calls.begin(innocent) }, innocent},
		"a call of a built-in":   {func(c *child, _ *logWriter) { c.calls.begin(api.File{}) }, api.File{}},
		"code without a file":    {func(_ *child, w *logWriter) { w.record(recordOf(api.MessageStuck, api.File{})) }, api.File{}},
		"its code":               {func(_ *child, w *logWriter) { w.record(recordOf(api.MessageStuck, innocent)) }, innocent},
		"it does not answer":     {func(c *child, _ *logWriter) { c.hung = true }, api.File{}},
		"another file is loaded": {func(_ *child, w *logWriter) { w.record(recordOf(api.MessageLoading, api.File{Name: "new.ts"})) }, api.File{}},
	} {
		ended := &child{}
		ended.calls.begin(innocent)
		says := &logWriter{log: slog.New(slog.DiscardHandler)}
		c.happens(ended, says)
		ended.loading, ended.stuck = says.loading, says.stuck
		if culprit, explained := ended.explain(); culprit != c.blamed || !explained {
			t.Errorf("%s: %v is blamed (explained: %t), want %v", name, culprit, explained, c.blamed)
		}
	}
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
