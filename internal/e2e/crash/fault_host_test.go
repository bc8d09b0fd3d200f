package crash

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// TestKilledInATurn kills the host, or more, in a turn: one that has not begun
// or was text only runs again, unnoticed but for the time it takes; one that had
// begun a tool is told as interrupted, with what had been done.
func TestKilledInATurn(t *testing.T) {
	t.Parallel()
	for victims, kill := range map[string]func(*harness.Gateway, harness.HostRecord) *harness.Gateway{
		"host": func(g *harness.Gateway, h harness.HostRecord) *harness.Gateway {
			g.KillHost(h)
			return g
		},
		"claude and host": func(g *harness.Gateway, h harness.HostRecord) *harness.Gateway {
			_ = proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL)
			g.KillHost(h)
			return g
		},
		"daemon and host": func(g *harness.Gateway, h harness.HostRecord) *harness.Gateway {
			g.Kill()
			g.KillHost(h)
			return g.Start()
		},
		"host and daemon": func(g *harness.Gateway, h harness.HostRecord) *harness.Gateway {
			g.KillHost(h)
			g.Kill()
			return g.Start()
		},
		"all": func(g *harness.Gateway, h harness.HostRecord) *harness.Gateway {
			g.Kill()
			_ = proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL)
			g.KillHost(h)
			return g.Start()
		},
	} {
		t.Run(victims, func(t *testing.T) {
			t.Parallel()
			t.Run("text", func(t *testing.T) { t.Parallel(); killedInText(t, kill) })
			t.Run("tool", func(t *testing.T) { t.Parallel(); killedInTool(t, kill) })
			if victims == "claude and host" {
				return // the host may have told before it dies that claude did not start
			}
			t.Run("not begun", func(t *testing.T) { t.Parallel(); killedBeforeBegin(t, kill) })
		})
	}
}

func killedInText(t *testing.T, kill func(*harness.Gateway, harness.HostRecord) *harness.Gateway) {
	m := harness.NewMachine(t)
	g := m.Start()
	session := g.Say("a", "session").Str("text")
	id := g.Tell("a", "wait "+m.Path("go"))
	m.Eventually("turn runs", func() bool { return m.Begun("wait ") == 1 })
	g = kill(g, m.Hosts()["a"])
	m.Eventually("turn runs again", func() bool { return m.Begun("wait ") == 2 })
	m.Touch("go")
	g.Outcome(id).Want(t, "waited for "+m.Path("go"))
	g.Say("a", "session").Want(t, session)
	if n := m.Begun("wait "); n != 2 {
		t.Errorf("turn was begun %d times", n)
	}
	if n := g.Balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
	g.EndsAll()
}

func killedInTool(t *testing.T, kill func(*harness.Gateway, harness.HostRecord) *harness.Gateway) {
	m := harness.NewMachine(t)
	g := m.Start()
	session := g.Say("a", "session").Str("text")
	id := g.Tell("a", "toolwait "+m.Path("go"))
	m.Eventually("tool runs", func() bool { return tools(m, "go") == 1 })
	g = kill(g, m.Hosts()["a"])
	g.Outcome(id).Failed(t, "interrupted", "Bash", m.Path("go"), "not finished", "not run again")
	m.Touch("go")
	g.Say("a", "session").Want(t, session)
	if n := tools(m, "go"); n != 1 {
		t.Errorf("tool was run %d times", n)
	}
	g.Balanced()
	g.EndsAll()
}

func killedBeforeBegin(t *testing.T, kill func(*harness.Gateway, harness.HostRecord) *harness.Gateway) {
	m := harness.NewMachine(t, "FAKECLAUDE_START=noinit")
	m.Env = append(m.Env, "FAKECLAUDE_START_ONCE="+m.Path("once"))
	g := m.Start()
	id := g.Tell("a", "tool 0 once-only")
	m.Eventually("turn waits in the host", func() bool {
		_, err := os.Stat(m.Path("once"))
		return err == nil && g.Must("GET", "/messages/"+id, nil, 200).Str("state") == "running" && m.Hosts()["a"].ClaudePID > 0
	})
	g = kill(g, m.Hosts()["a"])
	g.Outcome(id).Want(t, "final: ran: once-only")
	if n := tools(m, "once-only"); n != 1 {
		t.Errorf("tool was run %d times", n)
	}
	g.Balanced()
	g.EndsAll()
}

// TestStoppedHostIsReplaced leaves a host that does not answer to a new daemon:
// it is ended by its record, and its turn runs in another one. It takes as long
// as a host has to answer.
func TestStoppedHostIsReplaced(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	id := g.Tell("a", "wait "+m.Path("go"))
	m.Eventually("turn runs", func() bool { return m.Begun("wait ") == 1 })
	host := m.Hosts()["a"]
	m.Freeze(host.PID, host.Start)
	g.Kill()
	g = m.Start()
	m.Eventually("turn runs again", func() bool { return m.Begun("wait ") == 2 })
	for _, p := range []proc.Process{{PID: host.PID, Start: host.Start}, {PID: host.ClaudePID, Start: host.ClaudeStart}} {
		if proc.Alive(p.PID, p.Start) {
			t.Errorf("process %d is still there", p.PID)
		}
	}
	m.Touch("go")
	g.Outcome(id).Want(t, "waited for "+m.Path("go"))
	g.Usable("a")
	g.Balanced()
	g.EndsAll()
}

// TestStrangerUnderARecordedPID has a record name a process that is not the one
// it was written for, as happens when the number has been given away since.
func TestStrangerUnderARecordedPID(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	g.Usable("a")
	g.Signal(syscall.SIGTERM) // the host stays
	records := m.Glob("state/hosts/*.json")
	if len(records) != 1 {
		t.Fatalf("records are %v", records)
	}
	stranger := exec.Command("sleep", "600")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = stranger.Process.Kill(), stranger.Wait() })
	b, err := os.ReadFile(records[0])
	if err != nil {
		t.Fatal(err)
	}
	host := m.Hosts()["a"]
	record := map[string]any{}
	if err := json.Unmarshal(b, &record); err != nil {
		t.Fatal(err)
	}
	record["pid"], record["claude_pid"] = stranger.Process.Pid, stranger.Process.Pid // the start times stay
	if b, err = json.Marshal(record); err != nil {
		t.Fatal(err)
	}
	m.KillHost(host)
	if err := os.WriteFile(records[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	g = m.Start()
	g.Usable("a")
	g.Usable("b")
	g.EndsAll()
	start, err := proc.StartTime(stranger.Process.Pid)
	if err != nil || !proc.Alive(stranger.Process.Pid, start) {
		t.Errorf("the stranger is gone: %v", err)
	}
}

// TestStrangerOfAnotherBoot is the same with a record of an earlier boot, whose
// start times mean nothing.
func TestStrangerOfAnotherBoot(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	g.Usable("a")
	g.Signal(syscall.SIGTERM)
	host, path := m.Hosts()["a"], m.Glob("state/hosts/*.json")[0]
	m.KillHost(host)
	stranger := exec.Command("sleep", "600")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = stranger.Process.Kill(), stranger.Wait() })
	pid := stranger.Process.Pid
	start, err := proc.StartTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{
		"channel": "a", "socket": m.Path("run/none.sock"), "boot_id": "an earlier one",
		"pid": pid, "start": start, "claude_pid": pid, "claude_start": start,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	g = m.Start()
	g.Usable("a")
	g.EndsAll()
	if !proc.Alive(pid, start) {
		t.Error("the stranger is gone")
	}
}

// tools returns how many tool calls with s in their command were run.
func tools(m *harness.Machine, s string) int {
	m.T.Helper()
	n := 0
	for _, l := range m.Journal() {
		if l.Event == "tool" && strings.Contains(l.Text, s) {
			n++
		}
	}
	return n
}
