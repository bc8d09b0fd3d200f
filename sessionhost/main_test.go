package sessionhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/host"
	"bareclaw/sessionhost/protocol"
)

// patience bounds every wait of these tests. Nothing depends on it: a test that
// needs it has failed.
const patience = 60 * time.Second

// built is what TestMain makes for all tests.
var built struct {
	dir  string
	fake func() (string, error)
}

// TestMain turns the test binary into a host when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == protocol.Subcommand && os.Getenv(refusesVariable) != "" {
		refuseAll()
	}
	if len(os.Args) > 1 && os.Args[1] == protocol.Subcommand {
		panicOn(syscall.SIGUSR1)
		os.Exit(host.Run(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	}
	os.Exit(runTests(m))
}

// panicOn has a goroutine of this process panic when a signal comes.
func panicOn(sig os.Signal) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, sig)
	go func() { // ends with the process
		<-signals
		panic("a test")
	}()
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bch")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built.dir = dir
	built.fake = sync.OnceValues(func() (string, error) {
		path := filepath.Join(dir, "claude")
		out, err := exec.Command("go", "build", "-o", path, "bareclaw/internal/testkit/fakeclaude").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build fakeclaude: %w\n%s", err, out)
		}
		return path, nil
	})
	if err := errors.Join(check.DependOnSources("../internal/testkit"), writeTracer(dir), writeLate(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if status := m.Run(); status != 0 {
		return status
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		return 1
	}
	return 0
}

// A station is a place where hosts live, with the scripted claude.
type station struct {
	t   testing.TB
	dir string
	o   Options
}

// newStation makes one. Variables are NAME=VALUE for the hosts and claude.
func newStation(t testing.TB, environ ...string) *station {
	t.Helper()
	fake, err := built.fake()
	check.OK(t, err)
	self, err := os.Executable()
	check.OK(t, err)
	dir, err := os.MkdirTemp("", "bch") // short: sockets have to fit below it
	check.OK(t, err)
	st := &station{t: t, dir: dir}
	st.o = Options{
		StateDir: st.path("state"), RuntimeDir: st.path("run"), Self: self, Dir: dir,
		Env: append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CLAUDE_CONFIG_DIR=" + st.path("claude"),
			"FAKECLAUDE_LOG=" + st.path("journal"), "GORACE=atexit_sleep_ms=0",
		}, environ...),
		Program:   func() ([]string, error) { return []string{fake}, nil },
		Launch:    claude.Launch{MaxTurns: 25, AllowedTools: "Bash"},
		ConfigDir: st.path("claude"), Lasting: true, Generation: 1, StartTimeout: patience,
		Log: slog.New(slog.DiscardHandler),
	}
	t.Cleanup(st.close)
	return st
}

func (st *station) path(name string) string { return filepath.Join(st.dir, name) }

// close ends what a test left.
func (st *station) close() {
	h := st.hosts()
	live, err := h.Live(context.Background())
	if err != nil {
		st.t.Error(err)
	}
	for _, key := range live {
		if err := h.Reap(context.Background(), key); err != nil {
			st.t.Error(err)
		}
	}
	if st.t.Failed() {
		logs, _ := filepath.Glob(st.path("state/hosts/*.log"))
		for _, file := range logs {
			b, _ := os.ReadFile(file)
			st.t.Logf("log of a host:\n%s", b)
		}
	}
	_ = os.RemoveAll(st.dir)
}

// hosts returns a keeper with the station's options, as one daemon has it.
func (st *station) hosts() *Hosts {
	st.t.Helper()
	h, err := New(st.o)
	check.OK(st.t, err)
	return h
}

// generation returns the keeper of a daemon of that generation.
func (st *station) generation(n int64) *Hosts {
	h := st.hosts()
	h.o.Generation = n
	return h
}

// start begins a session on channel "c".
func (st *station) start() *listener {
	st.t.Helper()
	return st.begin(st.hosts(), core.Launch{SessionID: newID(st.t)})
}

// attach finds the session of channel "c" for a daemon of that generation.
func (st *station) attach(generation int64) *listener {
	st.t.Helper()
	s, err := st.generation(generation).Attach(st.t.Context(), "c")
	check.OK(st.t, err)
	return st.listen(s)
}

func (st *station) listen(s core.Session) *listener {
	st.t.Cleanup(s.Detach)
	return &listener{Session: s, t: st.t}
}

// A listener receives the events of a session one by one.
type listener struct {
	core.Session
	t       testing.TB
	waiting []core.Event
	full    []string // what was told of a log without room
}

// next returns the next event, or false when there is none any more.
func (l *listener) next() (core.Event, bool) {
	l.t.Helper()
	for len(l.waiting) == 0 {
		select {
		case batch, ok := <-l.Events():
			if !ok {
				return core.Event{}, false
			}
			for _, ev := range batch.Events {
				if ev.Kind == core.LogFull {
					l.full = append(l.full, ev.Detail)
				} else {
					l.waiting = append(l.waiting, ev)
				}
			}
		case <-time.After(patience):
			l.t.Fatal("no event came")
		}
	}
	ev := l.waiting[0]
	l.waiting = l.waiting[1:]
	return ev, true
}

// until returns the events up to the first of that kind.
func (l *listener) until(kind core.EventKind) []core.Event {
	l.t.Helper()
	var all []core.Event
	for {
		ev, ok := l.next()
		if !ok {
			l.t.Fatalf("the session ended before an event of kind %d; there were %d", kind, len(all))
		}
		if all = append(all, ev); ev.Kind == kind {
			return all
		}
	}
}

// rest returns the events up to the end of the session, and acknowledges them.
func (l *listener) rest() []core.Event {
	l.t.Helper()
	var all []core.Event
	for {
		ev, ok := l.next()
		if !ok {
			return all
		}
		all = append(all, ev)
		if ev.Kind == core.Exited {
			l.Ack(ev.Seq)
		}
	}
}

// hand gives claude a turn with that text and returns its id.
func (l *listener) hand(text string) core.TurnID {
	l.t.Helper()
	id := core.TurnID(newID(l.t))
	line, err := (&Hosts{}).Compose(id, []byte(quoted(text)))
	check.OK(l.t, err)
	check.OK(l.t, l.Hand(id, line))
	return id
}

// answer hands claude a turn, returns the text of the result that names it, and
// acknowledges all up to there.
func (l *listener) answer(text string) string {
	l.t.Helper()
	for id := l.hand(text); ; {
		all := l.until(core.Resulted)
		if last := all[len(all)-1]; slices.Contains(last.Result.Turns, id) {
			l.Ack(last.Seq)
			return last.Result.Text
		}
	}
}

// answers hands claude a turn, and fails unless that is its answer.
func (l *listener) answers(text, want string) {
	l.t.Helper()
	if got := l.answer(text); got != want {
		l.t.Errorf("claude answers %q with %q, want %q", text, got, want)
	}
}

// record returns what the state directory says of channel "c".
func (st *station) record() protocol.Record {
	st.t.Helper()
	r, err := protocol.ReadRecord(st.paths().RecordPath)
	check.OK(st.t, err)
	return r
}

func (st *station) paths() protocol.Place {
	return protocol.PlaceOf(st.o.StateDir, st.o.RuntimeDir, "c")
}

// gone waits until a process has ended.
func (st *station) gone(what string, pid int, start uint64) {
	st.t.Helper()
	ctx, cancel := context.WithTimeout(st.t.Context(), patience)
	defer cancel()
	if err := proc.WaitGone(ctx, pid, start); err != nil {
		st.t.Fatalf("%s: %v", what, err)
	}
}

// signal signals a process that is alive. With SIGSTOP, signal returns when the process has
// stopped: until then the process may still act.
func (st *station) signal(pid int, start uint64, sig syscall.Signal) {
	st.t.Helper()
	check.OK(st.t, proc.Signal(pid, start, sig))
	if sig == syscall.SIGSTOP {
		awaitStopped(st, pid)
	}
}

// eventually waits until cond holds.
func (st *station) eventually(what string, cond func() bool) {
	st.t.Helper()
	check.Eventually(st.t, patience, what, cond)
}

func (st *station) exists(name string) bool {
	_, err := os.Stat(st.path(name))
	return err == nil
}

// read returns what a file holds, nothing where there is none yet.
func (st *station) read(name string) string {
	b, _ := os.ReadFile(st.path(name))
	return string(b)
}

func (st *station) touch(name string) {
	st.t.Helper()
	check.OK(st.t, os.WriteFile(st.path(name), nil, 0o600))
}

// runSelf runs the session host's subcommand without what a daemon passes on.
func runSelf(path string) (said string, err error) {
	cmd := exec.Command(path, protocol.Subcommand)
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func newID(t testing.TB) string {
	t.Helper()
	id, err := uuid.NewV7()
	check.OK(t, err)
	return id.String()
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

// begun returns how many turns claude has begun.
func (st *station) begun() int { return strings.Count(st.read("journal"), `"event":"begun"`) }

// shell has the station run a shell script as claude. It answers initialize.
func (st *station) shell(script string) {
	const ready = `read -r line; echo '{"type":"control_response","response":{"subtype":"success","request_id":"bareclaw-initialize"}}'; `
	st.o.Program = func() ([]string, error) { return []string{"sh", "-c", ready + script, "claude"}, nil }
}
