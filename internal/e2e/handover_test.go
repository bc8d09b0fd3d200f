package e2e

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

	"bareclaw/internal/proc"
)

// generation returns the running daemon's.
func (g *gateway) generation() float64 {
	g.t.Helper()
	return g.must("GET", "/health", nil, 200).number("generation")
}

// TestHandOver restarts the gateway in the middle of a turn: nobody but streams
// can tell.
func TestHandOver(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]func(g *gateway){
		"request": func(g *gateway) {
			if a := g.must("POST", "/restart", nil, 200); a.str("status") != "restarting" {
				g.t.Errorf("restart says %s", a.body)
			}
		},
		"signal": func(g *gateway) {
			if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				g.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			claude := g.say("idle", "pid").str("text")
			watch := g.stream("GET", "/channels/http/events", nil)
			held := g.hold(obj{"text": "wait " + m.path("go")})
			m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
			waiting := g.tell("http", "echo waited")
			own := g.stream("POST", "/message", obj{"channel": "other", "text": "wait " + m.path("go")})
			streamed := own.want("accepted").str("message_id")
			before := g.must("GET", "/health", nil, 200)
			for range 2 { // the second by a process that was handed over to itself
				generation := g.generation()
				restart(g)
				g.restarted(generation)
			}
			watch.want("restarting")
			own.want("restarting")
			after := g.must("GET", "/health", nil, 200)
			if after.number("pid") == before.number("pid") || after.str("status") != "ok" {
				t.Errorf("health was %s and is %s", before.body, after.body)
			}
			if now := g.say("idle", "pid").str("text"); now != claude {
				t.Errorf("claude was %s and is %s", claude, now)
			}
			m.touch("go")
			held.answer(200).want(t, "waited for "+m.path("go"))
			g.outcome(waiting).want(t, "waited")
			g.outcome(streamed).want(t, "waited for "+m.path("go"))
			if n := m.begun("wait"); n != 3 {
				t.Errorf("%d turns begun, want 3", n)
			}
			g.balanced()
			if g.signal(syscall.SIGTERM); g.cmd.ProcessState.ExitCode() != exitOK {
				t.Errorf("the first process ends with %v", g.cmd.ProcessState)
			}
			if h := m.lockFile(); proc.Alive(h.PID, h.Start) {
				t.Error("the daemon outlives the process that was started")
			}
		})
	}
}

// TestHandOverUnderLoad restarts again and again while clients send slow messages in
// every way: each is answered with its own text, and was one turn.
func TestHandOverUnderLoad(t *testing.T) {
	t.Parallel()
	const clients, restarts = 50, 20
	m := newMachine(t, fmt.Sprint("BARECLAW_MAX_SESSIONS=", clients))
	g := m.start()
	var sent atomic.Int64
	done := make(chan struct{})
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			own := *g
			own.http = newClient(t) // with a connection that it keeps
			for i := 0; !closed(done); i++ {
				text := fmt.Sprintf("c%d-%d", c, i)
				if err := own.askSlowly(i, fmt.Sprint("c", c), text); err != nil {
					t.Errorf("%s: %v", text, err)
					return
				}
				sent.Add(1)
			}
		})
	}
	for range restarts {
		generation := g.generation()
		for enough := sent.Load() + clients; sent.Load() <= enough && !t.Failed(); {
			before := sent.Load() // to start so many sessions takes a while
			m.eventually("a message is answered", func() bool { return t.Failed() || sent.Load() > before })
		}
		g.must("POST", "/restart", nil, 200)
		g.restarted(generation)
	}
	close(done)
	all.Wait()
	if n := g.balanced(); n != int(sent.Load()) {
		t.Errorf("%d messages were accepted, %d answered", n, sent.Load())
	}
	turns := map[string]int{}
	for _, l := range m.journal() {
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

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// askSlowly has the text said by a turn that takes a while, in the i-th way of
// asking, and fails unless that is the answer.
func (g *gateway) askSlowly(i int, channel, text string) error {
	body := obj{"channel": channel, "text": "slow 100 " + text}
	var a answer
	var err error
	switch i % 3 {
	case 0: // wait for the answer, on a connection that is kept
		a, err = g.do("POST", "/message", body)
	case 1: // on a new one
		a, err = g.do("POST", "/message", body, "Connection", "close")
	case 2: // ask for it later
		a, err = g.do("POST", "/message", body, "Prefer", "respond-async")
		if err == nil && a.status != http.StatusAccepted {
			return fmt.Errorf("not accepted: %d %s", a.status, a.body)
		}
		if err == nil {
			a, err = g.do("GET", "/messages/"+a.str("message_id")+"?wait=30s", nil)
		}
	}
	if err == nil && (a.status != http.StatusOK || a.flag("is_error") || !strings.HasSuffix(a.str("text"), " "+text)) {
		err = fmt.Errorf("answered with %d %s", a.status, a.body)
	}
	return err
}

// TestRestartThatCannotBe has the new process refuse its configuration: the old
// one says so and serves on.
func TestRestartThatCannotBe(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	generation := g.generation()
	env := m.path("work/.env")
	if err := os.WriteFile(env, []byte("BARECLAW_MAX_TURNS=many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := g.must("POST", "/restart", nil, 503)
	if a.str("code") != "restart_failed" || !strings.Contains(a.str("error"), "BARECLAW_MAX_TURNS") {
		t.Errorf("refused with %s", a.body)
	}
	if h := g.must("GET", "/health", nil, 200); h.number("generation") != generation || !strings.Contains(string(h.body), "BARECLAW_MAX_TURNS") {
		t.Errorf("health is %s", h.body)
	}
	g.say("http", "echo still here").want(t, "still here")
	if err := os.WriteFile(env, []byte("BARECLAW_MAX_TURNS=3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	if args := g.say("new", "args").str("text"); !strings.Contains(args, `"--max-turns","3"`) {
		t.Errorf("claude was started with %s", args)
	}
	if h := g.must("GET", "/health", nil, 200); h.str("status") != "ok" || strings.Contains(string(h.body), "restart") {
		t.Errorf("health is %s", h.body)
	}
}

// TestRestartOnAnotherPort changes the port: the new process listens there.
func TestRestartOnAnotherPort(t *testing.T) {
	t.Parallel()
	m, port := newMachine(t), freePort(t)
	m.env = slices.DeleteFunc(m.env, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_PORT=") })
	write := func(port string) {
		if err := os.WriteFile(m.path("work/.env"), []byte("BARECLAW_PORT="+port+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(freePort(t)) // which nobody else is given when it is left
	g := m.start()
	held := g.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	generation := g.generation()
	write(port)
	g.must("POST", "/restart", nil, 200)
	old := g.base
	g.base = "http://127.0.0.1:" + port
	g.restarted(generation)
	m.touch("go")
	held.answer(200).want(t, "waited for "+m.path("go"))
	if _, err := http.Get(old + "/health"); err == nil {
		t.Error("the old address still answers")
	}
}

// TestSuccessorDies kills the new process when it has just taken over: the
// process that was started ends too, and whoever started it starts it again.
func TestSuccessorDies(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	held := g.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	h := m.lockFile()
	if err := proc.Signal(h.PID, h.Start, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a := held.answer(202)
	g.waitEnd()
	if g.cmd.ProcessState.ExitCode() == exitOK {
		t.Error("the first process says that all is well")
	}
	g = m.start()
	m.touch("go")
	g.outcome(a.str("message_id")).want(t, "waited for "+m.path("go"))
	g.balanced()
}

// TestRestartTellsTheServiceManager restarts under a service manager that wants to
// know of it: it is told of the reload and of the new main process, and the old
// one ends.
func TestRestartTellsTheServiceManager(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	socket := m.path("notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	next := func() string {
		t.Helper()
		b := make([]byte, 1<<12)
		_ = l.SetReadDeadline(time.Now().Add(patience))
		n, err := l.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	m.env = append(m.env, "NOTIFY_SOCKET="+socket)
	g := m.start()
	if got := next(); got != "READY=1" {
		t.Errorf("told %q first", got)
	}
	g.must("POST", "/restart", nil, 200)
	if got := next(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
		t.Errorf("told %q when it hands over", got)
	}
	told := map[string]bool{next(): true, next(): true}
	h := m.lockFile()
	if want := fmt.Sprintf("READY=1\nWATCHDOG=1\nMAINPID=%d", h.PID); !told["READY=1"] || !told[want] {
		t.Errorf("told %v, want READY=1 and %s", told, want)
	}
	if h.PID == g.cmd.Process.Pid {
		t.Error("it is the same process")
	}
	select {
	case <-g.done:
	case <-time.After(patience):
		t.Fatal("the old process stays")
	}
	if code := g.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("the old process ends with %d", code)
	}
	g.must("GET", "/health", nil, 200)
	if err := proc.Signal(h.PID, h.Start, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := next(); got != "STOPPING=1" {
		t.Errorf("told %q at the end", got)
	}
	m.eventually("the new process ends", func() bool { return !proc.Alive(h.PID, h.Start) })
}

// TestRestartReplacesSessionsOfOldSettings changes how claude is started: a session
// that is in use goes on until its turn has ended, and is resumed with the new
// settings after that.
func TestRestartReplacesSessionsOfOldSettings(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	old := g.say("idle", "args").str("text")
	session := g.say("idle", "session").str("text")
	g.say("busy", "echo hello").want(t, "hello")
	held := g.hold(obj{"channel": "busy", "text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	busy := m.hosts()["busy"]
	if err := os.WriteFile(m.path("work/.env"), []byte("BARECLAW_MAX_TURNS=3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	m.eventually("the idle session ends", func() bool { _, live := m.hosts()["idle"]; return !live })
	if now := g.say("idle", "args").str("text"); now == old || !strings.Contains(now, `"--max-turns","3"`) || !strings.Contains(now, `"--resume"`) {
		t.Errorf("claude was started with %s, then with %s", old, now)
	}
	if now := g.say("idle", "session").str("text"); now != session {
		t.Errorf("session was %s and is %s", session, now)
	}
	if now := m.hosts()["busy"]; now != busy {
		t.Errorf("the session with a turn was replaced: %+v, %+v", busy, now)
	}
	m.touch("go")
	held.answer(200).want(t, "waited for "+m.path("go"))
	m.eventually("the other session ends too", func() bool { _, live := m.hosts()["busy"]; return !live })
	g.say("busy", "args")
	g.balanced()
}

// TestRestartWithAnotherEnvFile edits .env: the new process has what it says now, of
// tools and of users, and not what it said before.
func TestRestartWithAnotherEnvFile(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	write := func(tools, users string) {
		env := "BARECLAW_TELEGRAM_TOKEN=123456:ABC-DEF_ghi\nBARECLAW_ALLOWED_TOOLS=" + tools + "\nBARECLAW_ALLOWED_USERS=" + users + "\n"
		if err := os.WriteFile(m.path("work/.env"), []byte(env), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Read", "1")
	g := m.start()
	if args := g.say("before", "args").str("text"); !strings.Contains(args, `"--allowedTools","Read"`) {
		t.Errorf("claude was started with %s", args)
	}
	write("Read,Bash(git log *)", "12abc")
	if a := g.must("POST", "/restart", nil, 503); !strings.Contains(a.str("error"), "BARECLAW_ALLOWED_USERS") {
		t.Errorf("with users that are no numbers: %s", a.body)
	}
	write("Read,Bash(git log *)", "1,2")
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	if args := g.say("after", "args").str("text"); !strings.Contains(args, `"--allowedTools","Read,Bash(git log *)"`) {
		t.Errorf("claude was started with %s", args)
	}
}
