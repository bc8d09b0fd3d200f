package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/messagesapi"
	"bareclaw/internal/testkit/realclaude"
)

// The tests of the realcli files run the pinned CLI itself, through the daemon,
// against a scripted API on loopback. They show that the gateway's idea of
// claude is right, where the scripted claude of the other tests can only show
// that the gateway is consistent with itself.

// realClaudes bounds how many machines with a real CLI there are at once: one
// takes a core for half a second to start, and 200 MB.
var realClaudes = make(chan struct{}, 4)

// A realMachine is a machine whose claude is the real CLI. What the model says
// is scripted: see messagesapi for the directives.
type realMachine struct {
	*machine
	*messagesapi.Standin
	before  atomic.Pointer[http.HandlerFunc] // sees a request first, if set
	waiters atomic.Int32                     // requests that hold keeps
}

// newRealMachine makes one with nothing of the user's own: home, configuration
// and temporary files are below the machine's directory.
func newRealMachine(t testing.TB, settings ...string) *realMachine {
	t.Helper()
	path := realclaude.Path(t)
	realClaudes <- struct{}{}
	t.Cleanup(func() { <-realClaudes })
	m := &realMachine{Standin: messagesapi.New(messagesapi.Options{})}
	api := httptest.NewServer(http.HandlerFunc(m.serveAPI))
	t.Cleanup(func() { api.CloseClientConnections(); api.Close() })
	m.machine = newMachine(t)
	if err := os.Mkdir(m.path("tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, realclaude.Env(m.path("home"), api.URL)...)
	m.env = append(m.env, "TMPDIR="+m.path("tmp"), "BARECLAW_CLAUDE="+path, "BARECLAW_PASS_ENV=ANTHROPIC_API_KEY")
	m.env = append(m.env, settings...)
	t.Cleanup(func() {
		for _, s := range m.Requests() {
			if s.Rejected != "" {
				t.Errorf("API request %d was refused: %s", s.N, s.Rejected)
			}
			if t.Failed() {
				t.Logf("API request %d: directive %q, said %q, tool results %+v", s.N, s.Directive, s.UserTexts, s.ToolResults)
			}
		}
	})
	return m
}

func (m *realMachine) serveAPI(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // else the end of the client does not show
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if first := m.before.Load(); first != nil {
		first.ServeHTTP(w, r)
		return
	}
	m.ServeHTTP(w, r)
}

// hold keeps the API from answering anything more. There is something on held
// for each request that waits; open lets all of them pass.
func (m *realMachine) hold() (held <-chan struct{}, open func()) {
	waits, pass := make(chan struct{}, 16), make(chan struct{})
	hold := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.waiters.Add(1)
		defer m.waiters.Add(-1)
		waits <- struct{}{}
		select {
		case <-pass:
			m.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	m.before.Store(&hold)
	return waits, func() { m.before.Store(nil); close(pass) }
}

// abandoned waits until the API has noticed that nobody waits for it any more.
func (m *realMachine) abandoned() {
	m.t.Helper()
	m.eventually("claude has left the API", func() bool { return m.waiters.Load() == 0 })
}

// realToolCall writes a reply of the model that the scripts do not have: a call
// of Bash, which is whole, or is followed by words without end.
func realToolCall(w http.ResponseWriter, command string, whole bool) {
	input, err := json.Marshal(map[string]string{"command": command, "description": "a test"})
	if err != nil {
		panic(err) // two strings
	}
	delta, err := json.Marshal(string(input))
	if err != nil {
		panic(err) // a string
	}
	events := []string{
		`{"type":"message_start","message":{"id":"msg_call","type":"message","role":"assistant","model":"claude-test","content":[],` +
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_call","name":"Bash","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":` + string(delta) + `}}`,
		`{"type":"content_block_stop","index":0}`,
	}
	if whole {
		events = append(events, `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`)
	} else {
		events = append(events, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"And so"}}`)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, e) // claude may be gone
	}
	_ = http.NewResponseController(w).Flush()
}

// await waits for what the API reports.
func (m *realMachine) await(c <-chan struct{}, what string) {
	m.t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		m.t.Fatalf("waited in vain: %s", what)
	}
}

// asked returns how many requests for a reply of the model were about a user
// text that contains s.
func (m *realMachine) asked(s string) int {
	n := 0
	for _, r := range m.Requests() {
		if strings.Contains(r.Text, s) {
			n++
		}
	}
	return n
}

// lines returns the lines of a file, none if there is no such file.
func (m *realMachine) lines(name string) []string {
	b, err := os.ReadFile(m.path(name))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return strings.Fields(string(b))
}

// waiting is a command that adds a line to the file begun, waits for the file
// go, and adds a line to the file done. It ends when the machine is removed.
func (m *realMachine) waiting(begun, goOn, done string) string {
	return fmt.Sprintf("echo begun >> %s; until [ -e %s ]; do [ -d %s ] || exit; sleep 0.01; done; echo done >> %s",
		m.path(begun), m.path(goOn), m.dir, m.path(done))
}

// A realGateway is a daemon with a real CLI.
type realGateway struct {
	*gateway
	m *realMachine
}

func (m *realMachine) start() *realGateway { return &realGateway{m.machine.start(), m} }

// channel returns the state of a channel.
func (g *realGateway) channel(key string) answer {
	g.t.Helper()
	return g.must("GET", "/channels/"+escaped(key), nil, 200)
}

// agent returns the process id of the channel's claude.
func (g *realGateway) agent(key string) float64 {
	pid, _ := g.channel(key).json["agent_pid"].(float64)
	return pid
}

// sameAgent fails unless the channel's claude is still that process.
func (g *realGateway) sameAgent(key string, pid float64) {
	g.t.Helper()
	if now := g.agent(key); now != pid || pid == 0 {
		g.t.Errorf("claude of %s is process %v, was %v", key, now, pid)
	}
}

// interrupt ends the running turn, fails if that takes too long, and returns how
// long it took.
func (g *realGateway) interrupt(key string) time.Duration {
	g.t.Helper()
	late := lateness(g.t)
	a := g.must("POST", "/channels/"+escaped(key)+"/interrupt", nil, 200)
	ms, ok := a.json["took_ms"].(float64)
	took := time.Duration(ms) * time.Millisecond
	if !ok || took > promised+12*late() {
		g.t.Errorf("interrupt took %v, want at most %v (the machine is late by %v): %s", took, promised, late(), a.body)
	}
	return took
}

// watch returns what the channel's event stream says from now on.
func (g *realGateway) watch(key string) *lockedBuffer {
	g.t.Helper()
	resp, err := g.http.Get(g.base + "/channels/" + escaped(key) + "/events")
	if err != nil || resp.StatusCode != http.StatusOK {
		g.t.Fatalf("GET events: %v, %v", resp, err)
	}
	g.t.Cleanup(func() { _ = resp.Body.Close() })
	said := &lockedBuffer{}
	go func() { _, _ = io.Copy(said, resp.Body) }() // ends with the body
	return said
}

// hear waits until the stream has said s.
func (g *realGateway) hear(said *lockedBuffer, s string) {
	g.t.Helper()
	g.m.eventually("event with "+s, func() bool { return strings.Contains(said.String(), s) })
}

// failed checks that a message ended in that state with that code.
func (g *realGateway) failed(a answer, state, code string) {
	g.t.Helper()
	if a.str("state") != state || a.str("code") != code || !a.flag("is_error") || a.str("text") == "" {
		g.t.Errorf("message is %s with code %q (is_error %v), want %s with %q and a text\n%s",
			a.str("state"), a.str("code"), a.flag("is_error"), state, code, a.body)
	}
}

// mentions checks that the answer's text contains every one of the parts.
func (g *realGateway) mentions(a answer, parts ...string) {
	g.t.Helper()
	for _, p := range parts {
		if !strings.Contains(a.str("text"), p) {
			g.t.Errorf("text %q does not mention %q", a.str("text"), p)
		}
	}
}

// crash ends the daemon, the channel's host and its claude as a power cut would,
// but for the files.
func (g *realGateway) crash(key string) {
	g.t.Helper()
	h := g.m.hosts()[key]
	g.kill()
	g.m.slay(h.host(), h.claude())
}

// end ends the daemon as an operator would, so that all outcomes are recorded,
// and then the channel's host and its claude.
func (g *realGateway) end(key string) {
	g.t.Helper()
	h := g.m.hosts()[key]
	g.signal(syscall.SIGTERM)
	g.m.slay(h.host(), h.claude())
}

func (h hostRecord) host() proc.Process { return proc.Process{PID: h.PID, Start: h.Start} }
func (h hostRecord) claude() proc.Process {
	return proc.Process{PID: h.ClaudePID, Start: h.ClaudeStart}
}

// slay ends processes with SIGKILL, at once, and waits until they are gone.
func (m *realMachine) slay(ps ...proc.Process) {
	m.t.Helper()
	for _, p := range ps {
		if p.PID == 0 {
			m.t.Fatal("there is no such process")
		}
		m.send(p, syscall.SIGKILL)
	}
	for _, p := range ps {
		m.gone(p)
	}
}

// send signals a process if it still lives.
func (m *realMachine) send(p proc.Process, sig syscall.Signal) {
	_ = proc.Signal(p.PID, p.Start, sig)
}

// gone waits until a process has ended.
func (m *realMachine) gone(p proc.Process) {
	m.t.Helper()
	m.eventually("process is gone", func() bool { return !proc.Alive(p.PID, p.Start) })
}
