package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// leavePromise is how long an idle daemon may take to end.
const leavePromise = 2 * time.Second

// lockFile returns what the state directory's lock says of its holder.
func (m *machine) lockFile() (h lockfile.Holder) {
	m.t.Helper()
	m.eventually("the lock file can be read", func() bool { // it may be being written
		var err error
		h, err = lockfile.ReadHolder(m.path("state/" + lockfile.StateLockName))
		return err == nil
	})
	return h
}

// restarted waits until a hand-over is over.
func (g *gateway) restarted(generation float64) {
	g.t.Helper()
	g.eventually("the restart is over", func() bool {
		a, err := g.do("GET", "/health", nil)
		return err == nil && a.flag("ready") && a.number("generation") > generation
	})
}

func TestTerminateLeavesHostsAtWork(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	claude := g.say("idle", "pid").str("text")
	held := g.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	g.signal(syscall.SIGTERM)
	if code := g.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("exit status %d after SIGTERM, want %d", code, exitOK)
	}
	a := held.answer(202)
	if a.header.Get("Location") != "/messages/"+a.str("message_id") {
		t.Errorf("held request got %s %v", a.body, a.header)
	}
	hosts := m.hosts()
	if got := slices.Sorted(maps.Keys(hosts)); !slices.Equal(got, []string{"http", "idle"}) {
		t.Errorf("hosts left: %v", got)
	}
	m.touch("go")
	m.eventually("the turn ends without a daemon", func() bool { return m.did("ended", "completed") })
	g = m.start()
	g.outcome(a.str("message_id")).want(t, "waited for "+m.path("go"))
	if now := g.say("idle", "pid").str("text"); now != claude {
		t.Errorf("claude was %s and is %s", claude, now)
	}
	g.balanced()
}

func TestIdleDaemonEndsAtOnce(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			if took := endsIdle(t, sig); took > leavePromise {
				t.Errorf("the daemon took %v to end, want %v at most", took, leavePromise)
			}
		})
	}
}

// ended returns how long the last daemon took to end, as its log says; ended is false if the
// log does not say that.
func (m *machine) ended() (took time.Duration, ended bool) {
	for line := range strings.Lines(m.log.String()) {
		var l struct {
			Msg  string
			Took time.Duration
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "ended" {
			took, ended = l.Took, true
		}
	}
	return took, ended
}

// endsIdle ends a daemon that has nothing to do, and returns how long that took by its own log:
// how long a busy machine takes to bring the signal, and to tell of the end, is not its doing.
func endsIdle(t *testing.T, sig syscall.Signal) (took time.Duration) {
	t.Helper()
	m := newMachine(t)
	g := m.start()
	g.say("http", "echo hello").want(t, "hello")
	host := m.hosts()["http"]
	watch := g.stream("GET", "/channels/http/events", nil)
	g.signal(sig)
	took, ended := m.ended()
	if !ended {
		t.Error("the log does not say that it has ended")
	}
	watch.want("shutdown")
	if code := g.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("exit status %d, want %d", code, exitOK)
	}
	stays := sig == syscall.SIGTERM
	if proc.Alive(host.PID, host.Start) != stays || proc.Alive(host.ClaudePID, host.ClaudeStart) != stays {
		t.Errorf("host and claude alive: %v, %v, want %v", proc.Alive(host.PID, host.Start), proc.Alive(host.ClaudePID, host.ClaudeStart), stays)
	}
	if left := m.glob("run/*"); !stays && len(left) != 0 {
		t.Errorf("left in the runtime directory: %q", left)
	}
	return took
}

// fails runs a daemon that must not get ready and returns what it said.
func (m *machine) fails(status int) string {
	m.t.Helper()
	before := len(m.log.String())
	g := m.launch()
	if g.base != "" {
		m.t.Fatal("daemon got ready")
	}
	g.waitEnd()
	m.eventually("its words arrive", func() bool { return strings.HasSuffix(m.log.String(), "\n") && len(m.log.String()) > before })
	if code := g.cmd.ProcessState.ExitCode(); code != status {
		m.t.Errorf("exit status %d, want %d", code, status)
	}
	return m.log.String()[before:]
}

func (m *machine) set(settings ...string) { m.env = append(m.env, settings...) }

func TestSecondDaemonSaysWhoIsThere(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.say("http", "echo before").want(t, "before")
	said := m.fails(exitFailure)
	for _, part := range []string{fmt.Sprintf("pid %d", g.cmd.Process.Pid), m.path("state"), strings.TrimPrefix(g.base, "http://"), "BARECLAW_STATE_DIR"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not in %q", part, said)
		}
	}
	g.say("http", "echo after").want(t, "after")
	if a := g.overSocket().must("GET", "/health", nil, 200); int(a.number("pid")) != g.cmd.Process.Pid {
		t.Errorf("the socket leads to %s", a.body)
	}
	g.balanced()
}

// TestSecondDaemonOfTheSameRuntimeDir has another gateway of the user, with a state directory
// of its own, find the sockets of the first one.
func TestSecondDaemonOfTheSameRuntimeDir(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	other := *m
	other.env = append(slices.Clone(m.env), "BARECLAW_STATE_DIR="+m.path("other"), "BARECLAW_CWD="+t.TempDir())
	if said := other.fails(exitFailure); !strings.Contains(said, m.path("run/api.sock")) || !strings.Contains(said, "BARECLAW_RUNTIME_DIR") {
		t.Errorf("it says %q", said)
	}
	if a := g.overSocket().must("GET", "/health", nil, 200); int(a.number("pid")) != g.cmd.Process.Pid {
		t.Errorf("the socket leads to %s", a.body)
	}
	g.kill()
	other.start().signal(syscall.SIGINT) // what the killed one has left is in nobody's way
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	m, port := newMachine(t), takenPort(t)
	m.set("BARECLAW_PORT=" + port)
	said := m.fails(exitFailure)
	if !strings.Contains(said, "port "+port+" is in use") || !strings.Contains(said, "BARECLAW_PORT") {
		t.Errorf("said %q", said)
	}
	m.set("BARECLAW_PORT=0") // nothing stays locked
	m.start().say("http", "echo free").want(t, "free")
}

func TestBadConfigurationIsToldWhole(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.set("BARECLAW_PORT=http", "BARECLAW_MAX_TURNS=0", "BARECLAW_APPROVALS=maybe", "BARECLAW_HOST=0.0.0.0", "BARECLAW_TIMEOUT_MS=1m",
		"BARECLAW_HTTP_TOKEN=not a token", "BARECLAW_CWD="+m.path("missing"))
	said := m.fails(exitUsage)
	for _, name := range []string{"BARECLAW_PORT", "BARECLAW_MAX_TURNS", "BARECLAW_APPROVALS", "BARECLAW_TIMEOUT_MS", "BARECLAW_HTTP_TOKEN", "BARECLAW_CWD"} {
		if !strings.Contains(said, name) {
			t.Errorf("%s is not among the problems: %s", name, said)
		}
	}
	if strings.Contains(said, "not a token") {
		t.Errorf("the token is shown: %s", said)
	}
}

func TestAddressForAllNeedsAToken(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_HOST=0.0.0.0")
	if said := m.fails(exitUsage); !strings.Contains(said, "BARECLAW_HTTP_TOKEN") {
		t.Errorf("said %q", said)
	}
	m.set("BARECLAW_HTTP_TOKEN=0123456789abcdef0123456789abcdef")
	m.start()
}

func TestFirstRunWithoutClaude(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "PATH=/nonexistent", "BARECLAW_CLAUDE=claude")
	g := m.start()
	health := g.must("GET", "/health", nil, 200)
	agent, _ := health.json["agent"].(map[string]any)
	if health.str("status") != "degraded" || agent["kind"] != "echo" || !strings.Contains(fmt.Sprint(agent["problem"]), "not Claude") {
		t.Errorf("health is %s", health.body)
	}
	if !strings.Contains(m.log.String(), "not Claude") {
		t.Error("the log does not say that this is not Claude")
	}
	first := g.say("http", "hello")
	if n := first.array("notices"); len(n) != 1 || n[0].code() != "echo_agent" || !strings.Contains(n[0].str("text"), "npm install") {
		t.Errorf("first answer tells %s", first.body)
	}
	second := g.say("http", "again")
	if second.json["notices"] != nil {
		t.Errorf("second answer tells %s", second.body)
	}
	for text, a := range map[string]answer{"hello": first, "again": second} {
		for _, part := range []string{"not Claude", "@anthropic-ai/claude-code", text} {
			if a.flag("is_error") || !strings.Contains(a.str("text"), part) {
				t.Errorf("%q is not in the answer %s", part, a.body)
			}
		}
	}
	g.crash()
	g = m.start()
	if a := g.say("http", "once more"); a.flag("is_error") || !strings.Contains(a.str("text"), "once more") {
		t.Errorf("after a crash: %s", a.body)
	}
	g.balanced()
}

func TestClaudeIsNeverReplacedWhenAskedFor(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_AGENT=claude", "BARECLAW_CLAUDE=no-such-claude")
	g := m.start()
	a := g.say("http", "hello")
	if a.str("state") != "failed" || a.code() != "agent_missing" || !strings.Contains(a.str("text"), "no-such-claude") {
		t.Errorf("outcome is %s", a.body)
	}
	if h := g.must("GET", "/health", nil, 200); h.str("status") != "degraded" {
		t.Errorf("health is %s", h.body)
	}
	g.balanced()
}
