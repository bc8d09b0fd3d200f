package http

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

func TestTerminateLeavesHostsAtWork(t *testing.T) {
	m, g := harness.Started(t)
	claude := g.Say("idle", "pid").Str("text")
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	g.Signal(syscall.SIGTERM)
	if code := g.Cmd.ProcessState.ExitCode(); code != harness.ExitOK {
		t.Errorf("exit status %d after SIGTERM, want %d", code, harness.ExitOK)
	}
	a := held.Answer(202)
	if a.Header.Get("Location") != "/messages/"+a.Str("message_id") {
		t.Errorf("held request got %s %v", a.Body, a.Header)
	}
	hosts := m.Hosts()
	if got := slices.Sorted(maps.Keys(hosts)); !slices.Equal(got, []string{"http", "idle"}) {
		t.Errorf("hosts left: %v", got)
	}
	m.Touch("go")
	m.Eventually("the turn ends without a daemon", func() bool { return m.Did("ended", "completed") })
	g = m.Start()
	g.Outcome(a.Str("message_id")).Want(t, "waited for "+m.Path("go"))
	if now := g.Say("idle", "pid").Str("text"); now != claude {
		t.Errorf("claude was %s and is %s", claude, now)
	}
	g.Balanced()
}

func TestIdleDaemonEndsAtOnce(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			if took, late := endsIdle(t, sig); took > harness.LeavePromise+late {
				t.Errorf("the daemon took %v to end, want %v at most (the machine is late by %v)", took, harness.LeavePromise, late)
			}
		})
	}
}

// endsIdle ends a daemon that has nothing to do. It returns how long that took by the daemon's log,
// and by how much a busy machine may have delayed the end.
func endsIdle(t *testing.T, sig syscall.Signal) (took, late time.Duration) {
	t.Helper()
	m := harness.NewMachine(t)
	g := m.Start()
	g.Say("http", "echo hello").Want(t, "hello")
	host := m.Hosts()["http"]
	watch := g.Stream("GET", "/channels/http/events", nil)
	delay := harness.Lateness()
	g.Signal(sig)
	took, ended := m.Ended()
	late = delay()
	if !ended {
		t.Error("the log does not say that it has ended")
	}
	watch.Want("shutdown")
	if code := g.Cmd.ProcessState.ExitCode(); code != harness.ExitOK {
		t.Errorf("exit status %d, want %d", code, harness.ExitOK)
	}
	stays := sig == syscall.SIGTERM
	if !stays {
		m.HostEnded(host)
	} else if !proc.Alive(host.PID, host.Start) || !proc.Alive(host.ClaudePID, host.ClaudeStart) {
		t.Errorf("host or claude has ended: %+v", host)
	}
	if left := m.Glob("run/*"); !stays && len(left) != 0 {
		t.Errorf("left in the runtime directory: %q", left)
	}
	return took, late
}

// failsToStart runs a daemon that must not get ready and returns what it said.
func failsToStart(m *harness.Machine, status int) string {
	m.T.Helper()
	before := len(m.Log.String())
	g := m.Launch()
	if g.Base != "" {
		m.T.Fatal("daemon got ready")
	}
	g.WaitEnd()
	m.Eventually("its words arrive", func() bool { return strings.HasSuffix(m.Log.String(), "\n") && len(m.Log.String()) > before })
	if code := g.Cmd.ProcessState.ExitCode(); code != status {
		m.T.Errorf("exit status %d, want %d", code, status)
	}
	return m.Log.String()[before:]
}

func TestSecondDaemonSaysWhoIsThere(t *testing.T) {
	m, g := harness.Started(t)
	g.Say("http", "echo before").Want(t, "before")
	said := failsToStart(m, harness.ExitFailure)
	for _, part := range []string{fmt.Sprintf("pid %d", g.Cmd.Process.Pid), m.Path("state"), strings.TrimPrefix(g.Base, "http://"), "BARECLAW_STATE_DIR"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not in %q", part, said)
		}
	}
	g.Say("http", "echo after").Want(t, "after")
	if a := g.OverSocket().Must("GET", "/health", nil, 200); int(a.Number("pid")) != g.Worker() {
		t.Errorf("the socket leads to %s", a.Body)
	}
	g.Balanced()
}

// TestSecondDaemonOfTheSameRuntimeDir has another gateway of the user, with a state directory
// of its own, find the sockets of the first one.
func TestSecondDaemonOfTheSameRuntimeDir(t *testing.T) {
	m, g := harness.Started(t)
	other := *m
	other.Env = append(slices.Clone(m.Env), "BARECLAW_STATE_DIR="+m.Path("other"), "BARECLAW_CWD="+t.TempDir())
	if said := failsToStart(&other, harness.ExitFailure); !strings.Contains(said, m.Path("run/api.sock")) || !strings.Contains(said, "BARECLAW_RUNTIME_DIR") {
		t.Errorf("it says %q", said)
	}
	if a := g.OverSocket().Must("GET", "/health", nil, 200); int(a.Number("pid")) != g.Worker() {
		t.Errorf("the socket leads to %s", a.Body)
	}
	g.Kill()
	other.Start().Signal(syscall.SIGINT) // what the killed one has left is in nobody's way
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	m, port := harness.NewMachine(t), harness.TakenPort(t)
	m.Set("BARECLAW_PORT=" + port)
	said := failsToStart(m, harness.ExitFailure)
	if !strings.Contains(said, "port "+port+" is in use") || !strings.Contains(said, "BARECLAW_PORT") {
		t.Errorf("said %q", said)
	}
	m.Set("BARECLAW_PORT=0") // nothing stays locked
	m.Start().Say("http", "echo free").Want(t, "free")
}

func TestFirstRunWithoutClaude(t *testing.T) {
	m, g := harness.Started(t, "PATH=/nonexistent", "BARECLAW_CLAUDE=claude")
	health := g.Must("GET", "/health", nil, 200)
	agent, _ := health.JSON["agent"].(map[string]any)
	if health.Str("status") != "degraded" || agent["kind"] != "echo" || !strings.Contains(fmt.Sprint(agent["problem"]), "not Claude") {
		t.Errorf("health is %s", health.Body)
	}
	if !strings.Contains(m.Log.String(), "not Claude") {
		t.Error("the log does not say that this is not Claude")
	}
	first := g.Say("http", "hello")
	if n := first.Array("notices"); len(n) != 1 || n[0].Code() != "echo_agent" || !strings.Contains(n[0].Str("text"), "npm install") {
		t.Errorf("first answer tells %s", first.Body)
	}
	second := g.Say("http", "again")
	if second.JSON["notices"] != nil {
		t.Errorf("second answer tells %s", second.Body)
	}
	for text, a := range map[string]harness.Answer{"hello": first, "again": second} {
		for _, part := range []string{"not Claude", "@anthropic-ai/claude-code", text} {
			if a.Flag("is_error") || !strings.Contains(a.Str("text"), part) {
				t.Errorf("%q is not in the answer %s", part, a.Body)
			}
		}
	}
	crash(g)
	g = m.Start()
	if a := g.Say("http", "once more"); a.Flag("is_error") || !strings.Contains(a.Str("text"), "once more") {
		t.Errorf("after a crash: %s", a.Body)
	}
	g.Balanced()
}
