package harness

import (
	"bytes"
	"encoding/json"
	"errors"
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

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/messagesapi"
	"bareclaw/internal/testkit/realclaude"
)

// Decide answers an approval.
func (g *RealGateway) Decide(approval Answer, decision Obj) {
	g.T.Helper()
	a := g.Must("POST", "/approvals/"+approval.Str("id"), decision, 200)
	want := map[string]string{"allow": "allowed", "deny": "denied"}[decision["behavior"].(string)]
	if a.Str("state") != want {
		g.T.Errorf("approval is %s, want %s: %s", a.Str("state"), want, a.Body)
	}
}

// Exists reports whether a file of the machine is there.
func (m *RealMachine) Exists(name string) bool {
	_, err := os.Stat(m.Path(name))
	return err == nil
}

// Read sends a message and returns once claude has read it.
func (g *RealGateway) Read(channel, text string, extra ...any) string {
	g.T.Helper()
	said := g.Watch(channel)
	id := g.Tell(channel, text, extra...)
	g.Hear(said, `"state":"queued"`)
	return id
}

// InBackground is the input of a Bash call for waiting as a background task.
func (m *RealMachine) InBackground(begun, goOn, done string) string {
	m.T.Helper()
	input, err := json.Marshal(Obj{"command": m.Waiting(begun, goOn, done), "description": "a task", "run_in_background": true})
	check.OK(m.T, err)
	return string(input)
}

// DamageTranscripts rewrites all transcripts of the CLI.
func (m *RealMachine) DamageTranscripts(damage func(whole []byte) []byte) {
	m.T.Helper()
	files := m.Glob(transcripts)
	if len(files) == 0 {
		m.T.Fatal("there is no transcript")
	}
	for _, f := range files {
		whole, err := os.ReadFile(f)
		check.OK(m.T, errors.Join(err, os.WriteFile(f, damage(whole), 0o600)))
	}
}

// transcripts is where claude writes about its sessions.
const transcripts = "home/claude-config/projects/*/*.jsonl"

// realClaudes bounds how many machines with a real CLI there are at once: one
// takes a core for half a second to start, and 200 MB.
var realClaudes = make(chan struct{}, 4)

// A RealMachine is a machine whose claude is the real CLI. What the model says
// is scripted: see messagesapi for the directives.
type RealMachine struct {
	*Machine
	*messagesapi.Standin
	Before  atomic.Pointer[http.HandlerFunc] // sees a request first, if set
	waiters atomic.Int32                     // requests that Hold keeps waiting
}

// NewRealMachine makes one with nothing of the user's own: home, configuration
// and temporary files are below the machine's directory.
func NewRealMachine(t testing.TB, settings ...string) *RealMachine {
	t.Helper()
	path := realclaude.Path(t)
	realClaudes <- struct{}{}
	t.Cleanup(func() { <-realClaudes })
	m := &RealMachine{Standin: messagesapi.New()}
	api := httptest.NewServer(http.HandlerFunc(m.serveAPI))
	t.Cleanup(func() { api.CloseClientConnections(); api.Close() })
	m.Machine = NewMachine(t)
	check.OK(t, os.Mkdir(m.Path("tmp"), 0o700))
	m.Env = append(m.Env, realclaude.Env(m.Path("home"), api.URL)...)
	m.Env = append(m.Env, "TMPDIR="+m.Path("tmp"), "BARECLAW_CLAUDE="+path, "BARECLAW_PASS_ENV=ANTHROPIC_API_KEY")
	m.Env = append(m.Env, settings...)
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

func (m *RealMachine) serveAPI(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // else the end of the client does not show
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if first := m.Before.Load(); first != nil {
		first.ServeHTTP(w, r)
		return
	}
	m.ServeHTTP(w, r)
}

// Hold keeps the API from answering anything more. There is something on held
// for each request that waits; open lets all of them pass.
func (m *RealMachine) Hold() (held <-chan struct{}, open func()) {
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
	m.Before.Store(&hold)
	return waits, func() { m.Before.Store(nil); close(pass) }
}

// Abandoned waits until the API has noticed that nobody waits for it any more.
func (m *RealMachine) Abandoned() {
	m.T.Helper()
	m.Eventually("claude has left the API", func() bool { return m.waiters.Load() == 0 })
}

// Await waits for what the API reports.
func (m *RealMachine) Await(c <-chan struct{}, what string) {
	m.T.Helper()
	await(m.T, c, func() string { return what })
}

// Asked returns how many requests for a reply of the model were about a user
// text that contains s.
func (m *RealMachine) Asked(s string) int {
	n := 0
	for _, r := range m.Requests() {
		if strings.Contains(r.Text, s) {
			n++
		}
	}
	return n
}

// Lines returns the lines of a file, none if there is no such file.
func (m *RealMachine) Lines(name string) []string {
	return strings.Fields(m.Contents(name))
}

// Waiting is a command that adds a line to the file begun, waits for the file
// go, and adds a line to the file done. It ends when the machine is removed.
func (m *RealMachine) Waiting(begun, goOn, done string) string {
	return fmt.Sprintf("echo begun >> %s; until [ -e %s ]; do [ -d %s ] || exit; sleep 0.1; done; echo done >> %s",
		m.Path(begun), m.Path(goOn), m.Dir, m.Path(done))
}

// A RealGateway is a daemon with a real CLI.
type RealGateway struct {
	*Gateway
	M *RealMachine
}

// StartReal runs the test in parallel with others, on a new machine with a daemon.
func StartReal(t *testing.T, settings ...string) (*RealMachine, *RealGateway) {
	t.Helper()
	t.Parallel()
	m := NewRealMachine(t, settings...)
	return m, m.Start()
}

// Start runs a daemon and waits until it is ready.
func (m *RealMachine) Start() *RealGateway { return &RealGateway{m.Machine.Start(), m} }

// Agent returns the process id of the channel's claude.
func (g *RealGateway) Agent(key string) float64 { return g.Channel(key).Number("agent_pid") }

// SameAgent fails unless the channel's claude is still that process.
func (g *RealGateway) SameAgent(key string, pid float64) {
	g.T.Helper()
	if now := g.Agent(key); now != pid || pid == 0 {
		g.T.Errorf("claude of %s is process %v, was %v", key, now, pid)
	}
}

// Interrupt ends the running turn, fails if that takes too long, and returns how
// long it took.
func (g *RealGateway) Interrupt(key string) time.Duration {
	g.T.Helper()
	late := Lateness()
	a := g.Must("POST", "/channels/"+Escaped(key)+"/interrupt", nil, 200)
	ms, ok := a.JSON["took_ms"].(float64)
	took := time.Duration(ms) * time.Millisecond
	if !ok || took > Promised+late() {
		g.T.Errorf("interrupt took %v, want at most %v (the machine is late by %v): %s", took, Promised, late(), a.Body)
	}
	return took
}

// Watch returns what the channel's event stream says from now on.
func (g *RealGateway) Watch(key string) *LockedBuffer {
	g.T.Helper()
	resp, err := g.HTTP.Get(g.Base + "/channels/" + Escaped(key) + "/events")
	if err != nil || resp.StatusCode != http.StatusOK {
		g.T.Fatalf("GET events: %v, %v", resp, err)
	}
	g.T.Cleanup(func() { _ = resp.Body.Close() })
	said := &LockedBuffer{}
	go func() { _, _ = io.Copy(said, resp.Body) }() // ends with the body
	return said
}

// Hear waits until the stream has said s.
func (g *RealGateway) Hear(said *LockedBuffer, s string) {
	g.T.Helper()
	g.M.Eventually("event with "+s, func() bool { return strings.Contains(said.String(), s) })
}

// Failed checks that a message ended in that state with that code.
func (g *RealGateway) Failed(a Answer, state, code string) {
	g.T.Helper()
	if a.Str("state") != state || a.Str("code") != code || !a.Flag("is_error") || a.Str("text") == "" {
		g.T.Errorf("message is %s with code %q (is_error %v), want %s with %q and a text\n%s",
			a.Str("state"), a.Str("code"), a.Flag("is_error"), state, code, a.Body)
	}
}

// Mentions checks that the answer's text contains every one of the parts.
func (g *RealGateway) Mentions(a Answer, parts ...string) {
	g.T.Helper()
	for _, p := range parts {
		if !strings.Contains(a.Str("text"), p) {
			g.T.Errorf("text %q does not mention %q", a.Str("text"), p)
		}
	}
}

// Crash ends the daemon, the channel's host and its claude as a power cut would,
// but for the files.
func (g *RealGateway) Crash(key string) {
	g.T.Helper()
	h := g.M.Hosts()[key]
	g.Kill()
	g.M.Slay(h.Host(), h.Claude())
}

// End ends the daemon as an operator would, so that all outcomes are recorded,
// and then the channel's host and its claude.
func (g *RealGateway) End(key string) {
	g.T.Helper()
	h := g.M.Hosts()[key]
	g.Signal(syscall.SIGTERM)
	g.M.Slay(h.Host(), h.Claude())
}

// Transcripts returns all that claude has written about its sessions.
func (m *RealMachine) Transcripts() string {
	var all strings.Builder
	for _, f := range m.Glob(transcripts) {
		b, err := os.ReadFile(f)
		check.OK(m.T, err)
		all.Write(b)
	}
	return all.String()
}

// Traced reports whether the message's timeline has the mark.
func (g *RealGateway) Traced(id, what string) bool {
	g.T.Helper()
	return strings.Contains(string(g.Must("GET", "/messages/"+id+"/trace", nil, 200).Body), `"what":"`+what+`"`)
}

// Last returns the last request to the API.
func (m *RealMachine) Last() messagesapi.Seen {
	all := m.Requests()
	return all[len(all)-1]
}

// Patch changes the channel's settings and waits until its claude has ended: what was
// started otherwise is of no use.
func (g *RealGateway) Patch(settings Obj) {
	g.T.Helper()
	g.Must("PATCH", "/channels/http", settings, 200)
	g.M.Eventually("claude has ended", func() bool { return g.Agent("http") == 0 })
}
