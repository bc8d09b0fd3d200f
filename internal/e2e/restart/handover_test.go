package restart

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestHandOver restarts the gateway in the middle of a turn: nobody but streams
// can tell.
func TestHandOver(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]func(g *harness.Gateway){
		"request": func(g *harness.Gateway) {
			if a := g.Must("POST", "/restart", nil, 200); a.Str("status") != "restarting" {
				g.T.Errorf("restart says %s", a.Body)
			}
		},
		"signal": func(g *harness.Gateway) {
			check.OK(g.T, g.Cmd.Process.Signal(syscall.SIGHUP))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, g := harness.Started(t)
			sameClaude := g.SameClaude("idle")
			watch := g.Stream("GET", "/channels/http/events", nil)
			held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
			m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
			waiting := g.Tell("http", "echo waited")
			own := g.Stream("POST", "/message", harness.Obj{"channel": "other", "text": "wait " + m.Path("go")})
			streamed := own.Want("accepted").Str("message_id")
			before := g.Must("GET", "/health", nil, 200)
			for range 2 { // the second by a process that was handed over to itself
				generation := g.Generation()
				restart(g)
				g.Restarted(generation)
			}
			watch.Want("restarting")
			own.Want("restarting")
			after := g.Must("GET", "/health", nil, 200)
			if after.Number("pid") == before.Number("pid") || after.Str("status") != "ok" {
				t.Errorf("health was %s and is %s", before.Body, after.Body)
			}
			sameClaude(g)
			m.Touch("go")
			held.Answer(200).Want(t, "waited for "+m.Path("go"))
			g.Outcome(waiting).Want(t, "waited")
			g.Outcome(streamed).Want(t, "waited for "+m.Path("go"))
			if n := m.Begun("wait"); n != 3 {
				t.Errorf("%d turns begun, want 3", n)
			}
			g.Balanced()
			if g.Signal(syscall.SIGTERM); g.Cmd.ProcessState.ExitCode() != harness.ExitOK {
				t.Errorf("the first process ends with %v", g.Cmd.ProcessState)
			}
			if h := m.LockFile(); proc.Alive(h.Worker, h.WorkerStart) {
				t.Error("the worker outlives the process that was started")
			}
		})
	}
}

// TestHandOverUnderLoad restarts again and again while clients send slow messages in
// every way: each is answered with its own text, and was one turn.
func TestHandOverUnderLoad(t *testing.T) {
	t.Parallel()
	const clients, restarts = 50, 20
	m := harness.NewMachine(t, fmt.Sprint("BARECLAW_MAX_SESSIONS=", clients))
	g := m.Start()
	var sent atomic.Int64
	done := make(chan struct{})
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			own := *g
			own.HTTP = harness.NewClient(t) // with a connection that it keeps
			for i := 0; !harness.Closed(done); i++ {
				text := fmt.Sprintf("c%d-%d", c, i)
				if err := askSlowly(&own, i, fmt.Sprint("c", c), text); err != nil {
					t.Errorf("%s: %v", text, err)
					return
				}
				sent.Add(1)
			}
		})
	}
	for range restarts {
		generation := g.Generation()
		for enough := sent.Load() + clients; sent.Load() <= enough && !t.Failed(); {
			before := sent.Load() // to start so many sessions takes a while
			m.Eventually("a message is answered", func() bool { return t.Failed() || sent.Load() > before })
		}
		g.Must("POST", "/restart", nil, 200)
		g.Restarted(generation)
	}
	close(done)
	all.Wait()
	if n := g.Balanced(); n != int(sent.Load()) {
		t.Errorf("%d messages were accepted, %d answered", n, sent.Load())
	}
	turns := map[string]int{}
	for _, l := range m.Journal() {
		if l.Event == "begun" {
			turns[l.Text[strings.LastIndexByte(l.Text, ' ')+1:]]++
		}
	}
	for text, n := range turns {
		if n != 1 {
			t.Errorf("%s was %d turns", text, n)
		}
	}
	if len(turns) != int(sent.Load()) {
		t.Errorf("%d messages were turns, of %d", len(turns), sent.Load())
	}
}

// askSlowly has the text said by a turn that takes a while, in the i-th way of
// asking, and fails unless that is the answer.
func askSlowly(g *harness.Gateway, i int, channel, text string) error {
	body := harness.Obj{"channel": channel, "text": "slow 100 " + text}
	var a harness.Answer
	var err error
	switch i % 3 {
	case 0: // wait for the answer, on a connection that is kept
		a, err = g.Do("POST", "/message", body)
	case 1: // on a new one
		a, err = g.Do("POST", "/message", body, "Connection", "close")
	case 2: // ask for it later
		a, err = g.Do("POST", "/message", body, "Prefer", "respond-async")
		if err == nil && a.Status != http.StatusAccepted {
			return fmt.Errorf("not accepted: %d %s", a.Status, a.Body)
		}
		if err == nil {
			a, err = g.Do("GET", "/messages/"+a.Str("message_id")+"?wait=30s", nil)
		}
	}
	if err == nil && (a.Status != http.StatusOK || a.Flag("is_error") || !strings.HasSuffix(a.Str("text"), " "+text)) {
		err = fmt.Errorf("answered with %d %s", a.Status, a.Body)
	}
	return err
}

// TestRestartThatCannotBe has the new process refuse its configuration: the old
// one says so and serves on.
func TestRestartThatCannotBe(t *testing.T) {
	m, g := harness.Started(t)
	generation := g.Generation()
	env := m.Path("work/.env")
	check.OK(t, os.WriteFile(env, []byte("BARECLAW_MAX_TURNS=many\n"), 0o600))
	a := g.Must("POST", "/restart", nil, 503)
	if a.Str("code") != "restart_failed" || !strings.Contains(a.Str("error"), "BARECLAW_MAX_TURNS") {
		t.Errorf("refused with %s", a.Body)
	}
	if h := g.Must("GET", "/health", nil, 200); h.Number("generation") != generation || !strings.Contains(string(h.Body), "BARECLAW_MAX_TURNS") {
		t.Errorf("health is %s", h.Body)
	}
	g.Say("http", "echo still here").Want(t, "still here")
	check.OK(t, os.WriteFile(env, []byte("BARECLAW_MAX_TURNS=3\n"), 0o600))
	g.Must("POST", "/restart", nil, 200)
	g.Restarted(generation)
	if args := g.Say("new", "args").Str("text"); !strings.Contains(args, `"--max-turns","3"`) {
		t.Errorf("claude was started with %s", args)
	}
	if h := g.Must("GET", "/health", nil, 200); h.Str("status") != "ok" || strings.Contains(string(h.Body), "restart failed") {
		t.Errorf("health is %s", h.Body)
	}
}

// TestRestartOnAnotherPort changes the port: the new process listens there.
func TestRestartOnAnotherPort(t *testing.T) {
	t.Parallel()
	m, port := harness.NewMachine(t), harness.FreePort(t)
	m.Env = slices.DeleteFunc(m.Env, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_PORT=") })
	write := func(port string) {
		check.OK(t, os.WriteFile(m.Path("work/.env"), []byte("BARECLAW_PORT="+port+"\n"), 0o600))
	}
	write(harness.FreePort(t)) // which nobody else is given when it is left
	g := m.Start()
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	generation := g.Generation()
	write(port)
	g.Must("POST", "/restart", nil, 200)
	old := g.Base
	g.Base = "http://127.0.0.1:" + port
	g.Restarted(generation)
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	if _, err := http.Get(old + "/health"); err == nil {
		t.Error("the old address still answers")
	}
}

// TestSuccessorDies kills the new worker when it has just taken over: the worker before
// answers what it holds.
func TestSuccessorDies(t *testing.T) {
	m, g := harness.Started(t)
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	g.Restart()
	h := m.LockFile()
	check.OK(t, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGKILL))
	a := held.Answer(202)
	g.WaitEnd()
	if g.Cmd.ProcessState.ExitCode() == harness.ExitOK {
		t.Error("the first process says that all is well")
	}
	g = m.Start()
	m.Touch("go")
	g.Outcome(a.Str("message_id")).Want(t, "waited for "+m.Path("go"))
	g.Balanced()
}

// TestRestartTellsTheServiceManager restarts under a service manager that wants to know: the
// manager is told of the reload, and the main process stays.
func TestRestartTellsTheServiceManager(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	socket := m.Path("notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	next := func() string {
		t.Helper()
		b := make([]byte, 1<<12)
		_ = l.SetReadDeadline(time.Now().Add(harness.Patience))
		n, err := l.Read(b)
		check.OK(t, err)
		return string(b[:n])
	}
	m.Env = append(m.Env, "NOTIFY_SOCKET="+socket)
	g := m.Start()
	if got := next(); got != "READY=1" {
		t.Errorf("told %q first", got)
	}
	before := m.Worker()
	g.Must("POST", "/restart", nil, 200)
	if got := next(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
		t.Errorf("told %q when it hands over", got)
	}
	if got := next(); got != "READY=1" {
		t.Errorf("told %q when another worker serves", got)
	}
	if h := m.LockFile(); h.PID != g.Cmd.Process.Pid || h.Worker == before {
		t.Errorf("the main process %d is %d now; worker %d is %d", g.Cmd.Process.Pid, h.PID, before, h.Worker)
	}
	check.OK(t, g.Cmd.Process.Signal(syscall.SIGTERM))
	if got := next(); got != "STOPPING=1" {
		t.Errorf("told %q at the end", got)
	}
	g.WaitEnd()
}

// TestRestartReplacesSessionsOfOldSettings changes how claude is started: a session
// that is in use goes on until its turn has ended, and is resumed with the new
// settings after that.
func TestRestartReplacesSessionsOfOldSettings(t *testing.T) {
	m, g := harness.Started(t)
	old := g.Say("idle", "args").Str("text")
	session := g.Say("idle", "session").Str("text")
	g.Say("busy", "echo hello").Want(t, "hello")
	held := g.Hold(harness.Obj{"channel": "busy", "text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	busy := m.Hosts()["busy"]
	check.OK(t, os.WriteFile(m.Path("work/.env"), []byte("BARECLAW_MAX_TURNS=3\n"), 0o600))
	g.Restart()
	m.Eventually("the idle session ends", func() bool { _, live := m.Hosts()["idle"]; return !live })
	if now := g.Say("idle", "args").Str("text"); now == old || !strings.Contains(now, `"--max-turns","3"`) || !strings.Contains(now, `"--resume"`) {
		t.Errorf("claude was started with %s, then with %s", old, now)
	}
	if now := g.Say("idle", "session").Str("text"); now != session {
		t.Errorf("session was %s and is %s", session, now)
	}
	if now := m.Hosts()["busy"]; now != busy {
		t.Errorf("the session with a turn was replaced: %+v, %+v", busy, now)
	}
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	m.Eventually("the other session ends too", func() bool { _, live := m.Hosts()["busy"]; return !live })
	g.Say("busy", "args")
	g.Balanced()
}
