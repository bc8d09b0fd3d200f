package toolhost

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bareclaw/core/tools"
	"bareclaw/internal/atomicfile"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
	"bareclaw/toolhost/runner"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain runs the tests, or is one of the processes that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case api.Subcommand:
			os.Exit(runner.Run(os.Stdin, crasher{}))
		case daemonRole:
			beDaemon(os.Args[2])
		case silentRole:
			beSilent()
		}
	}
	goleak.VerifyTestMain(m)
}

// crashing are the contents of a file that ends the tool host that loads it.
const crashing = "export const bang = 1;\n"

// A crasher is the standard error of a tool host. It ends the process when that begins to load a file that is
// crashing.
type crasher struct{}

// Write implements io.Writer.
func (crasher) Write(p []byte) (int, error) {
	n, err := os.Stderr.Write(p)
	if sum := sha256.Sum256([]byte(crashing)); bytes.Contains(p, []byte(hex.EncodeToString(sum[:]))) && bytes.Contains(p, []byte(`"`+api.MessageLoading+`"`)) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return n, err
}

// patience bounds waits for another process.
const patience = 20 * time.Second

// A running is a Keeper with a real process, as the daemon has it.
type running struct {
	*Keeper
	t        testing.TB
	registry *tools.Registry
	dir      string // of the tools
	log      *logbook
	stop     func() // ends Run, once
}

// start starts a Keeper and returns when the tools are known.
func start(t testing.TB, change ...func(*Options)) *running {
	t.Helper()
	r := prepare(t, change...)
	r.settle()
	return r
}

// settle starts the Keeper and returns when the tools are known.
func (r *running) settle() {
	r.t.Helper()
	r.run()
	select {
	case <-r.Settled():
	case <-time.After(patience):
		r.t.Fatal("the tool host does not settle")
	}
}

// prepare makes a Keeper that does not run yet.
func prepare(t testing.TB, change ...func(*Options)) *running {
	t.Helper()
	return prepareFor(t, nil, change...)
}

// prepareFor is prepare with a policy for sessions.
func prepareFor(t testing.TB, policy tools.Policy, change ...func(*Options)) *running {
	t.Helper()
	r := &running{t: t, dir: filepath.Join(t.TempDir(), "tools"), log: &logbook{}, stop: func() {}}
	o := hostOptions(r.dir, slog.New(slog.NewTextHandler(r.log, nil)))
	for _, c := range change {
		c(&o)
	}
	r.dir = o.ToolsDir
	r.Keeper = New(o)
	r.registry = registryOf(t, r.Keeper, policy)
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Logf("the log of %s:\n%s", t.Name(), r.log)
		}
	})
	return r
}

// registryOf returns a registry with the tools of a Keeper.
func registryOf(t testing.TB, k *Keeper, policy tools.Policy) *tools.Registry {
	t.Helper()
	registry, err := tools.NewRegistry(tools.Options{
		Log:     k.o.Log,
		Policy:  policy,
		Sources: append(k.Sources(), tools.Dispatchers()),
	})
	check.OK(t, err)
	return registry
}

// hostOptions are the usual options.
func hostOptions(dir string, log *slog.Logger) Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Options{Self: self, ToolsDir: dir, KeepSnapshots: 50, Log: log}
}

func (r *running) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // ends by stop
		defer close(ended)
		r.Run(ctx, r.registry)
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			r.t.Error("Run does not end")
		}
	})
}

// call calls a tool as a session does.
func (r *running) call(name, args string) tools.Result {
	r.t.Helper()
	result, err := r.registry.Call(r.t.Context(), name, tools.Call{Caller: tools.Caller{Channel: "tg-1"}, Args: json.RawMessage(args)})
	check.OK(r.t, err)
	return result
}

// gives fails the test unless a call succeeds with a result.
func (r *running) gives(name, args, want string) {
	r.t.Helper()
	if got := r.call(name, args); got.IsError || cmp.Or(got.Text, string(got.Structured)) != want {
		r.t.Errorf("%s %.200s: %+v, want %s", name, args, shortened(got), want)
	}
}

// refuses fails the test unless a call is refused with texts.
func (r *running) refuses(name, args string, want ...string) {
	r.t.Helper()
	got := r.call(name, args)
	for _, text := range want {
		if !got.IsError || !strings.Contains(got.Text, text) {
			r.t.Errorf("%s %.200s: %+v, want an error with %q", name, args, shortened(got), text)
		}
	}
}

func shortened(got tools.Result) string {
	return fmt.Sprintf("%.500s%.500s (error: %t)", got.Text, got.Structured, got.IsError)
}

// eventually waits until cond holds.
func (r *running) eventually(what string, cond func() bool) {
	r.t.Helper()
	check.Eventually(r.t, patience, what, cond)
}

// offers waits until the registry has a tool whose description is as given; empty: no tool.
func (r *running) offers(name, description string) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("the tool %s is %q", name, description), func() bool {
		t, ok := r.registry.Find(name)
		return ok == (description != "") && t.Description == description
	})
}

// write replaces a file of the tools directory, as an editor does.
func (r *running) write(name, contents string) {
	r.t.Helper()
	check.OK(r.t, os.MkdirAll(r.dir, 0o700))
	check.OK(r.t, atomicfile.Write(filepath.Join(r.dir, name), []byte(contents), 0o600))
}

func (r *running) path(name string) string { return filepath.Join(r.dir, name) }

// now is the state that worker_status shows.
func (r *running) now() Status { return r.state.statusNow(r.t.Context()) }

// lastError returns why a file is not loaded.
func (r *running) lastError() string {
	if s := r.now(); s.Health != nil && s.Health.LastError != nil {
		return *s.Health.LastError
	}
	return ""
}

// entries returns the names in a directory.
func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	check.OK(t, err)
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// file returns the file of a tool whose handler has a body.
func file(name, description, body string) string { return fileWith(name, description, "", body) }

// fileWith is file with more members of the tool.
func fileWith(name, description, members, body string) string {
	return fmt.Sprintf("export const tool = {\n  name: %q,\n  description: %q,\n  schema: { type: 'object' },\n  %s\n  async handler(args) {\n    %s\n  },\n};\n", name, description, members, body)
}

// A logbook keeps what is logged.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns all that was logged.
func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// has reports whether there is a record with all texts.
func (l *logbook) has(texts ...string) bool {
	for line := range strings.Lines(l.String()) {
		if !containsNone(line, texts) {
			return true
		}
	}
	return false
}

// containsNone reports whether a text lacks one of the others.
func containsNone(s string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(s, text) {
			return true
		}
	}
	return false
}
