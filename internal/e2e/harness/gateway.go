package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// A Gateway is one running daemon.
type Gateway struct {
	*Machine
	Cmd  *exec.Cmd
	Base string // http://127.0.0.1:PORT
	Sock string
	Done chan struct{} // closed when the process has ended
	HTTP *http.Client
}

// Start runs a daemon and waits until it is ready. wrap, if given, is a command
// that the daemon is run by.
func (m *Machine) Start(wrap ...string) *Gateway {
	m.T.Helper()
	g := m.Launch(wrap...)
	select {
	case <-g.Done:
		m.T.Fatalf("daemon ended: %v", g.Cmd.ProcessState)
	default:
	}
	if g.Base == "" {
		m.T.Fatal("daemon did not get ready")
	}
	return g
}

// Executable is the program that daemons are started from.
func (m *Machine) Executable() string {
	m.T.Helper()
	if m.Program != "" {
		return m.Program
	}
	return Bareclaw(m.T)
}

// Launch runs a daemon and returns when it is ready or has ended.
func (m *Machine) Launch(wrap ...string) *Gateway {
	m.T.Helper()
	argv := append(slices.Clone(wrap), m.Executable(), "serve")
	g := &Gateway{Machine: m, Sock: m.Path("run/api.sock"), Done: make(chan struct{})}
	g.Cmd = exec.Command(argv[0], argv[1:]...)
	g.Cmd.Env, g.Cmd.Dir = m.Env, m.Path("work")
	// Not StderrPipe: Wait closes that before everything is read.
	stderr, w, err := os.Pipe()
	check.OK(m.T, err)
	g.Cmd.Stderr = w
	if err = g.Cmd.Start(); err != nil {
		_, _ = w.Close(), stderr.Close()
		m.T.Fatal(err)
	}
	ready, read := make(chan string, 1), make(chan struct{})
	go func() { // ends with the last process that has this stderr
		defer func() { _ = stderr.Close() }()
		m.take(stderr, ready, sync.OnceFunc(func() { close(read) }))
	}()
	go func() {
		_ = g.Cmd.Wait()                          // its state says how the daemon has ended
		_, _ = io.WriteString(w, endOfWords+"\n") // behind all that it has said; a successor may say more
		_ = w.Close()
		<-read
		close(g.Done)
	}()
	m.T.Cleanup(g.Kill)
	select {
	case g.Base = <-ready:
	case <-g.Done:
	case <-time.After(Patience):
	}
	g.HTTP = NewClient(m.T)
	return g
}

// endOfWords marks the end of an ended process's output.
const endOfWords = "\x00that was all"

// take copies the output of daemons to the machine's log, sends the address of the first ready
// daemon to ready, and calls all at endOfWords and at the end of the output.
func (m *Machine) take(said io.Reader, ready chan<- string, all func()) {
	defer all()
	defer close(ready)
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line, ended := bytes.CutSuffix(lines.Bytes(), []byte(endOfWords))
		if !ended || len(line) > 0 {
			_, _ = m.Log.Write(slices.Concat(line, []byte("\n")))
		}
		if ended {
			all()
		}
		var l struct{ Msg, Address string }
		if json.Unmarshal(line, &l) == nil && l.Msg == "ready" {
			select {
			case ready <- l.Address:
			default: // a later daemon, after a restart
			}
		}
	}
}

// HeldPatience is how long a request may be held: that takes as long as several waits.
const HeldPatience = 3 * Patience

// NewClient returns an HTTP client whose connections end with the test.
func NewClient(t testing.TB) *http.Client {
	c := &http.Client{Transport: &http.Transport{}, Timeout: HeldPatience}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// Signal sends the gateway a signal that ends it, and waits for that.
func (g *Gateway) Signal(sig syscall.Signal) {
	g.T.Helper()
	if sig == syscall.SIGKILL {
		g.Kill()
		return
	}
	if err := g.Cmd.Process.Signal(sig); err != nil {
		g.T.Fatalf("signal %v: %v", sig, err)
	}
	g.WaitEnd()
}

// WaitEnd waits until the daemon has ended.
func (g *Gateway) WaitEnd() {
	g.T.Helper()
	await(g.T, g.Done, func() string { return "the daemon ends" })
}

// Kill ends the gateway at once, supervisor and worker, as the end of the machine would.
func (g *Gateway) Kill() {
	g.KillHolder()
	_ = g.Cmd.Process.Kill()
	<-g.Done
}

// KillHolder kills the gateway that has the machine's state directory, if there is one.
func (m *Machine) KillHolder() {
	h, err := lockfile.ReadHolder(m.Path("state/" + lockfile.StateLockName))
	if err != nil {
		return
	}
	for _, kill := range []struct {
		pid   int
		start uint64
		sig   syscall.Signal
	}{
		{h.PID, h.Start, syscall.SIGSTOP}, // then it starts no other worker
		{h.Worker, h.WorkerStart, syscall.SIGKILL},
		{h.PID, h.Start, syscall.SIGKILL},
	} {
		_ = proc.Signal(kill.pid, kill.start, kill.sig) // it may have ended
	}
}

// Worker returns the process id of the worker, a child of the supervisor.
func (m *Machine) Worker() int { return m.LockFile().Worker }

// Do sends a request and reads the response. A body that is not a string, a
// []byte or nil is sent as JSON.
func (g *Gateway) Do(method, path string, body any, header ...string) (Answer, error) {
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
			return Answer{}, err
		}
		r = bytes.NewReader(j)
	}
	req, err := g.request(context.Background(), method, path, r, header)
	if err != nil {
		return Answer{}, err
	}
	a, err := g.Send(req)
	checkOutcomes(g.T, method+" "+path, any(a.JSON))
	return a, err
}

// request makes a request; headers are names and values in turn.
func (g *Gateway) request(ctx context.Context, method, path string, body io.Reader, header []string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, g.Base+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	return req, nil
}

// Must is Do for requests that must be answered, with one of the statuses if
// any are given.
func (g *Gateway) Must(method, path string, body any, statuses ...int) Answer {
	g.T.Helper()
	a, err := g.Do(method, path, body)
	if err != nil {
		g.T.Fatalf("%s %s: %v", method, path, err)
	}
	if len(statuses) > 0 && !slices.Contains(statuses, a.Status) {
		g.T.Fatalf("%s %s: status %d, want %v: %s", method, path, a.Status, statuses, a.Body)
	}
	return a
}

// Say sends a text to a channel and waits for its outcome.
func (g *Gateway) Say(channel, text string) Answer {
	g.T.Helper()
	return g.Must("POST", "/message", map[string]any{"channel": channel, "text": text}, 200)
}

// Tell sends a text and returns its message id without waiting.
func (g *Gateway) Tell(channel, text string, extra ...any) string {
	g.T.Helper()
	body := map[string]any{"channel": channel, "text": text}
	for i := 0; i+1 < len(extra); i += 2 {
		body[extra[i].(string)] = extra[i+1]
	}
	a, err := g.Do("POST", "/message", body, "Prefer", "respond-async")
	if err != nil || a.Status != 202 {
		g.T.Fatalf("POST /message: %v, status %d: %s", err, a.Status, a.Body)
	}
	return a.Str("message_id")
}

// Outcome waits until the message has its outcome.
func (g *Gateway) Outcome(id string) Answer {
	g.T.Helper()
	deadline := time.Now().Add(Patience)
	for {
		a := g.Must("GET", "/messages/"+id+"?wait=20s", nil, 200)
		if s := a.Str("state"); s != "waiting" && s != "running" {
			return a
		}
		if time.Now().After(deadline) {
			g.T.Fatalf("message %s has no outcome: %s", id, a.Body)
		}
	}
}

// Balanced fails unless every accepted message has exactly one outcome in the ledger,
// and returns how many were accepted. Balanced waits for the ledger, which may get an
// outcome a moment later than the sender.
func (g *Gateway) Balanced() int {
	g.T.Helper()
	var accepted, settled, even float64
	g.Eventually("every accepted message has its outcome in the ledger", func() bool {
		m := g.Metrics()
		accepted, even = m["bareclaw_messages_accepted_total"], m["bareclaw_balance_ok"]
		settled = m[`bareclaw_messages_total{outcome="answered"}`] + m[`bareclaw_messages_total{outcome="failed"}`] +
			m[`bareclaw_messages_total{outcome="cancelled"}`]
		return settled >= accepted
	})
	if accepted != settled || even != 1 {
		g.T.Errorf("ledger out of balance: %v accepted, %v settled, balance_ok %v", accepted, settled, even)
	}
	return int(accepted)
}

// Metrics returns the Prometheus samples by name and labels.
func (g *Gateway) Metrics() map[string]float64 {
	g.T.Helper()
	a := g.Must("GET", "/metrics", nil, 200)
	samples := map[string]float64{}
	for line := range strings.Lines(string(a.Body)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if f, err := strconv.ParseFloat(value, 64); ok && err == nil && !strings.HasPrefix(name, "#") {
			samples[name] = f
		}
	}
	return samples
}

// Local returns a client of the API socket.
func (g *Gateway) Local() *http.Client {
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", g.Sock)
	}}}
	g.T.Cleanup(c.CloseIdleConnections)
	return c
}

// Escaped is a channel key as it stands in a path.
func Escaped(key string) string { return url.PathEscape(key) }
