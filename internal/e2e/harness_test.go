package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/launchctl"
)

// patience bounds every wait of these tests. It is long because nothing should
// ever depend on it: a test that needs it has failed.
const patience = 60 * time.Second

// built is the directory of the programs that the tests run besides this one: each is built
// once. TestMain makes and removes it.
var built string

// builtVariable names that directory to a test binary that another one starts.
const builtVariable = "BARECLAW_TEST_BUILT"

// onceBuilt returns the path of a program, which the first one to ask builds, of all
// processes of this run.
func onceBuilt(name string, build func(path string) error) (path string, err error) {
	path = filepath.Join(built, name)
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	next := path + ".next"
	if err := build(next); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, os.Rename(next, path)
}

// goBuild runs `go build` here.
func goBuild(args ...string) error {
	if out, err := exec.Command("go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// Exit statuses of the program.
const (
	exitOK      = exitcode.OK
	exitFailure = exitcode.Failed
	exitUsage   = exitcode.Usage
)

// trialVariable shortens the trial of a new program.
const trialVariable = "BARECLAW_TEST_TRIAL"

// TestMain makes the directory of the programs that the tests build. Started by the name
// launchctl, the test binary is a stand-in for that program.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "launchctl" { // by a link, as service_launchd_linux_test.go makes one
		os.Exit(launchctl.Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	if built = os.Getenv(builtVariable); built != "" {
		os.Exit(m.Run())
	}
	if err := os.Chdir("../.."); err != nil { // tests name the project's files from its root
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailure)
	}
	dir, err := os.MkdirTemp("", "bc")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailure)
	}
	built = dir
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// fakeClaude returns the path of the scripted stand-in for the CLI.
func fakeClaude(t testing.TB) string {
	t.Helper()
	path, err := onceBuilt("claude", func(path string) error { return goBuild("-o", path, "./internal/testkit/fakeclaude") })
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A machine is an isolated home in which daemons run, one after the other.
type machine struct {
	t   testing.TB
	dir string
	env []string
	log *lockedBuffer // stderr of all daemons

	program string // that daemons and commands are started from; empty: the test binary
}

// newMachine makes one with the scripted claude. Settings are NAME=VALUE.
func newMachine(t testing.TB, settings ...string) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "bc") // short: sockets have to fit below it
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: dir, log: &lockedBuffer{}}
	for _, sub := range []string{"home", "work", "state", "run"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.path("home"), "CLAUDE_CONFIG_DIR=" + m.path("home/.claude"),
		"BARECLAW_PORT=0", "BARECLAW_SOURCE=off", "BARECLAW_CWD=" + m.path("work"), "BARECLAW_STATE_DIR=" + m.path("state"),
		"BARECLAW_RUNTIME_DIR=" + m.path("run"), "BARECLAW_LOG_FORMAT=json", "BARECLAW_CLAUDE=" + fakeClaude(t),
		"FAKECLAUDE_LOG=" + m.path("journal"),
		"GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE"), // or each process takes a second to end
	}, settings...)
	t.Cleanup(func() {
		m.endHosts()
		m.showLogs()
		_ = os.RemoveAll(dir)
	})
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) glob(pattern string) []string {
	files, err := filepath.Glob(m.path(pattern))
	if err != nil {
		m.t.Fatal(err)
	}
	return files
}

// A hostRecord is what the state directory says of a session host.
type hostRecord struct {
	Channel     string `json:"channel"`
	PID         int    `json:"pid"`
	Start       uint64 `json:"start"`
	ClaudePID   int    `json:"claude_pid"`
	ClaudeStart uint64 `json:"claude_start"`
}

// hosts returns the records of live hosts by channel.
func (m *machine) hosts() map[string]hostRecord {
	hosts := map[string]hostRecord{}
	for _, f := range m.glob("state/hosts/*.json") {
		var r hostRecord
		b, err := os.ReadFile(f)
		if err != nil || json.Unmarshal(b, &r) != nil {
			continue // it is being removed
		}
		if proc.Alive(r.PID, r.Start) {
			hosts[r.Channel] = r
		}
	}
	return hosts
}

// endHosts ends whatever a test left, by pid and start time: what its records name,
// and, where the system shows it, what was just being started.
func (m *machine) endHosts() {
	defer m.endRest()
	for _, r := range m.hosts() {
		_ = proc.Signal(r.PID, r.Start, syscall.SIGKILL)
		if r.ClaudePID > 0 {
			_ = proc.Signal(r.ClaudePID, r.ClaudeStart, syscall.SIGKILL)
		}
	}
}

func (m *machine) endRest() {
	for range 100 {
		rest, err := proc.ByEnviron("FAKECLAUDE_LOG", func(v string) bool { return v == m.path("journal") })
		if err != nil || len(rest) == 0 {
			return
		}
		for _, p := range rest {
			_ = proc.Signal(p.PID, p.Start, syscall.SIGKILL)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = proc.WaitGone(ctx, p.PID, p.Start)
			cancel()
		}
	}
}

// A gateway is one running daemon.
type gateway struct {
	*machine
	cmd  *exec.Cmd
	base string // http://127.0.0.1:PORT
	sock string
	done chan struct{} // closed when the process has ended
	err  error         // of Wait, valid after done
	http *http.Client
}

// start runs a daemon and waits until it is ready. wrap, if given, is a command
// that the daemon is run by.
func (m *machine) start(wrap ...string) *gateway {
	m.t.Helper()
	g := m.launch(wrap...)
	select {
	case <-g.done:
		m.t.Fatalf("daemon ended: %v", g.err)
	default:
	}
	if g.base == "" {
		m.t.Fatal("daemon did not get ready")
	}
	return g
}

// executable is the program that daemons are started from.
func (m *machine) executable() string {
	m.t.Helper()
	if m.program != "" {
		return m.program
	}
	return bareclaw(m.t)
}

// bareclaw returns the path of the program, built with the race detector if the tests are.
func bareclaw(t testing.TB) string {
	t.Helper()
	path, err := onceBuilt("bareclaw", func(path string) error { return goBuild(append(raceFlag(), "-buildvcs=false", "-o", path, ".")...) })
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// raceFlag returns the flag of go build for programs that the tests run: with the race
// detector if the tests have it.
func raceFlag() []string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" && s.Value == "true" {
				return []string{"-race"}
			}
		}
	}
	return nil
}

// copyProgram copies a program, with the directory that it goes into.
func copyProgram(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = writeProgram(to, b)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writeProgram writes a file that is going to be run. It cannot be while anybody has it
// open for writing, as a process would that is started meanwhile: for a moment it has all
// that this one has open.
func writeProgram(path string, b []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, b, 0o755)
}

// launch runs a daemon and returns when it is ready or has ended.
func (m *machine) launch(wrap ...string) *gateway {
	m.t.Helper()
	argv := append(slices.Clone(wrap), m.executable(), "serve")
	g := &gateway{machine: m, sock: m.path("run/api.sock"), done: make(chan struct{})}
	g.cmd = exec.Command(argv[0], argv[1:]...)
	g.cmd.Env, g.cmd.Dir = m.env, m.path("work")
	// Not StderrPipe: Wait closes that before everything is read.
	stderr, w, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	g.cmd.Stderr = w
	if err = g.cmd.Start(); err != nil {
		_, _ = w.Close(), stderr.Close()
		m.t.Fatal(err)
	}
	ready, read := make(chan string, 1), make(chan struct{})
	go func() { // ends with the last process that has this stderr
		defer func() { _ = stderr.Close() }()
		m.take(stderr, ready, sync.OnceFunc(func() { close(read) }))
	}()
	go func() {
		g.err = g.cmd.Wait()
		_, _ = io.WriteString(w, endOfWords+"\n") // behind all that it has said; a successor may say more
		_ = w.Close()
		<-read
		close(g.done)
	}()
	m.t.Cleanup(g.kill)
	select {
	case g.base = <-ready:
	case <-g.done:
	case <-time.After(patience):
	}
	g.http = newClient(m.t)
	return g
}

// endOfWords is what a test writes behind what an ended process has said.
const endOfWords = "\x00that was all"

// take takes up what daemons say, and tells at which address the first is ready, and when
// it has come to endOfWords, or to the very end.
func (m *machine) take(said io.Reader, ready chan<- string, all func()) {
	defer all()
	defer close(ready)
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line, ended := bytes.CutSuffix(lines.Bytes(), []byte(endOfWords))
		if !ended || len(line) > 0 {
			_, _ = m.log.Write(slices.Concat(line, []byte("\n")))
		}
		if ended {
			all()
		}
		var l struct{ Msg, Address string }
		if json.Unmarshal(line, &l) == nil && l.Msg == "ready" {
			select {
			case ready <- l.Address:
			default: // a restart in place
			}
		}
	}
}

// heldPatience is how long a request may be held: that takes as long as several waits.
const heldPatience = 3 * patience

func newClient(t testing.TB) *http.Client {
	c := &http.Client{Transport: &http.Transport{}, Timeout: heldPatience}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// signal sends the daemon a signal and, for one that ends it, waits for that.
func (g *gateway) signal(sig syscall.Signal) {
	g.t.Helper()
	if err := g.cmd.Process.Signal(sig); err != nil {
		g.t.Fatalf("signal %v: %v", sig, err)
	}
	g.waitEnd()
}

func (g *gateway) waitEnd() {
	g.t.Helper()
	select {
	case <-g.done:
	case <-time.After(patience):
		g.t.Fatal("daemon did not end")
	}
}

// kill ends the daemon at once, as a crash would. After a restart that is another
// process than the one that was started, which then ends by itself.
func (g *gateway) kill() {
	if t, err := program.Load(g.path("state")); err == nil && t != nil && t.State == program.OnTrial && t.Guarded() {
		_ = proc.Signal(t.Guard.PID, t.Guard.Start, syscall.SIGKILL) // it would go back
	}
	if h, err := lockfile.ReadHolder(g.path("state/" + lockfile.StateLockName)); err == nil && h.PID != g.cmd.Process.Pid && proc.Alive(h.PID, h.Start) {
		_ = proc.Signal(h.PID, h.Start, syscall.SIGKILL)
		g.waitEnd()
		return
	}
	_ = g.cmd.Process.Kill()
	<-g.done
}

// An answer is an HTTP response with its JSON body.
type answer struct {
	status int
	header http.Header
	body   []byte
	json   map[string]any
}

func (a answer) str(key string) string { s, _ := a.json[key].(string); return s }
func (a answer) flag(key string) bool  { b, _ := a.json[key].(bool); return b }

// do sends a request and reads the response. A body that is not a string, a
// []byte or nil is sent as JSON.
func (g *gateway) do(method, path string, body any, header ...string) (answer, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		r = bytes.NewReader(j)
	}
	req, err := http.NewRequest(method, g.base+path, r)
	if err != nil {
		return answer{}, err
	}
	if r != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := g.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	_ = json.Unmarshal(a.body, &a.json) // what is not JSON has no fields
	checkOutcomes(g.t, method+" "+path, any(a.json))
	return a, nil
}

// must is do for requests that must be answered, with one of the statuses if
// any are given.
func (g *gateway) must(method, path string, body any, statuses ...int) answer {
	g.t.Helper()
	a, err := g.do(method, path, body)
	if err != nil {
		g.t.Fatalf("%s %s: %v", method, path, err)
	}
	if len(statuses) > 0 && !slices.Contains(statuses, a.status) {
		g.t.Fatalf("%s %s: status %d, want %v: %s", method, path, a.status, statuses, a.body)
	}
	return a
}

// say sends a text to a channel and waits for its outcome.
func (g *gateway) say(channel, text string) answer {
	g.t.Helper()
	return g.must("POST", "/message", map[string]any{"channel": channel, "text": text}, 200)
}

// tell sends a text and returns its message id without waiting.
func (g *gateway) tell(channel, text string, extra ...any) string {
	g.t.Helper()
	body := map[string]any{"channel": channel, "text": text}
	for i := 0; i+1 < len(extra); i += 2 {
		body[extra[i].(string)] = extra[i+1]
	}
	a, err := g.do("POST", "/message", body, "Prefer", "respond-async")
	if err != nil || a.status != 202 {
		g.t.Fatalf("POST /message: %v, status %d: %s", err, a.status, a.body)
	}
	return a.str("message_id")
}

// outcome waits until the message has its outcome.
func (g *gateway) outcome(id string) answer {
	g.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		a := g.must("GET", "/messages/"+id+"?wait=20s", nil, 200)
		if s := a.str("state"); s != "waiting" && s != "running" {
			return a
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("message %s has no outcome: %s", id, a.body)
		}
	}
}

// want fails unless the answer is the text, without an error.
func (a answer) want(t testing.TB, text string) {
	t.Helper()
	if a.str("text") != text || a.flag("is_error") {
		t.Errorf("answer is %q (is_error %v), want %q\n%s", a.str("text"), a.flag("is_error"), text, a.body)
	}
}

// balanced fails unless the account of all messages is even with nothing open,
// and returns how many were accepted. It waits for the ledger, which may have an
// outcome a moment after its sender.
func (g *gateway) balanced() int {
	g.t.Helper()
	var accepted, settled, even float64
	g.eventually("every accepted message has its outcome in the ledger", func() bool {
		m := g.metrics()
		accepted, even = m["bareclaw_messages_accepted_total"], m["bareclaw_balance_ok"]
		settled = m[`bareclaw_messages_total{outcome="answered"}`] + m[`bareclaw_messages_total{outcome="failed"}`] +
			m[`bareclaw_messages_total{outcome="cancelled"}`]
		return settled >= accepted
	})
	if accepted != settled || even != 1 {
		g.t.Errorf("ledger out of balance: %v accepted, %v settled, balance_ok %v", accepted, settled, even)
	}
	return int(accepted)
}

// metrics returns the Prometheus samples by name and labels.
func (g *gateway) metrics() map[string]float64 {
	g.t.Helper()
	a := g.must("GET", "/metrics", nil, 200)
	samples := map[string]float64{}
	for line := range strings.Lines(string(a.body)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if f, err := strconv.ParseFloat(value, 64); ok && err == nil && !strings.HasPrefix(name, "#") {
			samples[name] = f
		}
	}
	return samples
}

// A journalLine is one thing the scripted claude did.
type journalLine struct {
	PID     int
	Session string
	Event   string
	UUID    string
	Text    string
}

// journal returns what all scripted claudes of the machine did.
func (m *machine) journal() []journalLine {
	m.t.Helper()
	b, err := os.ReadFile(m.path("journal"))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	var lines []journalLine
	for line := range bytes.Lines(b) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		var l journalLine
		if err := json.Unmarshal(line, &l); err != nil {
			m.t.Fatalf("journal line %q: %v", line, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// begun returns how many turns were begun with a text that contains s.
func (m *machine) begun(s string) int {
	m.t.Helper()
	n := 0
	for _, l := range m.journal() {
		if l.Event == "begun" && strings.Contains(l.Text, s) {
			n++
		}
	}
	return n
}

// eventually waits until cond holds. It is for what only a file or another
// process can tell.
func (m *machine) eventually(what string, cond func() bool) {
	m.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			m.t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

// touch makes an empty file, which lets a scripted turn go on.
func (m *machine) touch(name string) {
	m.t.Helper()
	if err := os.WriteFile(m.path(name), nil, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// local returns a client of the API socket.
func (g *gateway) local() *http.Client {
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", g.sock)
	}}}
	g.t.Cleanup(c.CloseIdleConnections)
	return c
}

// escaped is a channel key as it stands in a path.
func escaped(key string) string { return url.PathEscape(key) }
