package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// TestKilledInATurn kills the host, or more, in a turn: one that has not begun
// or was text only runs again, unnoticed but for the time it takes; one that had
// begun a tool is told as interrupted, with what had been done.
func TestKilledInATurn(t *testing.T) {
	t.Parallel()
	for victims, kill := range map[string]func(*gateway, hostRecord) *gateway{
		"host": func(g *gateway, h hostRecord) *gateway {
			g.killHost(h)
			return g
		},
		"claude and host": func(g *gateway, h hostRecord) *gateway {
			_ = proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL)
			g.killHost(h)
			return g
		},
		"daemon and host": func(g *gateway, h hostRecord) *gateway {
			g.kill()
			g.killHost(h)
			return g.start()
		},
		"host and daemon": func(g *gateway, h hostRecord) *gateway {
			g.killHost(h)
			g.kill()
			return g.start()
		},
		"all": func(g *gateway, h hostRecord) *gateway {
			g.kill()
			_ = proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL)
			g.killHost(h)
			return g.start()
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

func killedInText(t *testing.T, kill func(*gateway, hostRecord) *gateway) {
	m := newMachine(t)
	g := m.start()
	session := g.say("a", "session").str("text")
	id := g.tell("a", "wait "+m.path("go"))
	m.eventually("turn runs", func() bool { return m.begun("wait ") == 1 })
	g = kill(g, m.hosts()["a"])
	m.eventually("turn runs again", func() bool { return m.begun("wait ") == 2 })
	m.touch("go")
	g.outcome(id).want(t, "waited for "+m.path("go"))
	g.say("a", "session").want(t, session)
	if n := m.begun("wait "); n != 2 {
		t.Errorf("turn was begun %d times", n)
	}
	if n := g.balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
	g.endsAll()
}

func killedInTool(t *testing.T, kill func(*gateway, hostRecord) *gateway) {
	m := newMachine(t)
	g := m.start()
	session := g.say("a", "session").str("text")
	id := g.tell("a", "toolwait "+m.path("go"))
	m.eventually("tool runs", func() bool { return m.tools("go") == 1 })
	g = kill(g, m.hosts()["a"])
	g.outcome(id).failed(t, "interrupted", "Bash", m.path("go"), "not finished", "not run again")
	m.touch("go")
	g.say("a", "session").want(t, session)
	if n := m.tools("go"); n != 1 {
		t.Errorf("tool was run %d times", n)
	}
	g.balanced()
	g.endsAll()
}

func killedBeforeBegin(t *testing.T, kill func(*gateway, hostRecord) *gateway) {
	m := newMachine(t, "FAKECLAUDE_START=noinit")
	m.env = append(m.env, "FAKECLAUDE_START_ONCE="+m.path("once"))
	g := m.start()
	id := g.tell("a", "tool 0 once-only")
	m.eventually("turn waits in the host", func() bool {
		_, err := os.Stat(m.path("once"))
		return err == nil && g.must("GET", "/messages/"+id, nil, 200).str("state") == "running" && m.hosts()["a"].ClaudePID > 0
	})
	g = kill(g, m.hosts()["a"])
	g.outcome(id).want(t, "final: ran: once-only")
	if n := m.tools("once-only"); n != 1 {
		t.Errorf("tool was run %d times", n)
	}
	g.balanced()
	g.endsAll()
}

// TestStoppedHostIsReplaced leaves a host that does not answer to a new daemon:
// it is ended by its record, and its turn runs in another one. It takes as long
// as a host has to answer.
func TestStoppedHostIsReplaced(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	id := g.tell("a", "wait "+m.path("go"))
	m.eventually("turn runs", func() bool { return m.begun("wait ") == 1 })
	host := m.hosts()["a"]
	m.freeze(host.PID, host.Start)
	g.kill()
	g = m.start()
	m.eventually("turn runs again", func() bool { return m.begun("wait ") == 2 })
	for _, p := range []proc.Process{{PID: host.PID, Start: host.Start}, {PID: host.ClaudePID, Start: host.ClaudeStart}} {
		if proc.Alive(p.PID, p.Start) {
			t.Errorf("process %d is still there", p.PID)
		}
	}
	m.touch("go")
	g.outcome(id).want(t, "waited for "+m.path("go"))
	g.usable("a")
	g.balanced()
	g.endsAll()
}

// TestStrangerUnderARecordedPID has a record name a process that is not the one
// it was written for, as happens when the number has been given away since.
func TestStrangerUnderARecordedPID(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.usable("a")
	g.signal(syscall.SIGTERM) // the host stays
	records := m.glob("state/hosts/*.json")
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
	host := m.hosts()["a"]
	record := map[string]any{}
	if err := json.Unmarshal(b, &record); err != nil {
		t.Fatal(err)
	}
	record["pid"], record["claude_pid"] = stranger.Process.Pid, stranger.Process.Pid // the start times stay
	if b, err = json.Marshal(record); err != nil {
		t.Fatal(err)
	}
	m.killHost(host)
	if err := os.WriteFile(records[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	g = m.start()
	g.usable("a")
	g.usable("b")
	g.endsAll()
	start, err := proc.StartTime(stranger.Process.Pid)
	if err != nil || !proc.Alive(stranger.Process.Pid, start) {
		t.Errorf("the stranger is gone: %v", err)
	}
}

// TestStrangerOfAnotherBoot is the same with a record of an earlier boot, whose
// start times mean nothing.
func TestStrangerOfAnotherBoot(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.usable("a")
	g.signal(syscall.SIGTERM)
	host, path := m.hosts()["a"], m.glob("state/hosts/*.json")[0]
	m.killHost(host)
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
		"channel": "a", "socket": m.path("run/none.sock"), "boot_id": "an earlier one",
		"pid": pid, "start": start, "claude_pid": pid, "claude_start": start,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	g = m.start()
	g.usable("a")
	g.endsAll()
	if !proc.Alive(pid, start) {
		t.Error("the stranger is gone")
	}
}

// killHost kills a host and waits until it and its claude are gone.
func (m *machine) killHost(h hostRecord) {
	m.t.Helper()
	if err := proc.Signal(h.PID, h.Start, syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		m.t.Fatal(err)
	}
	m.eventually("host and claude are gone", func() bool {
		return !proc.Alive(h.PID, h.Start) && !proc.Alive(h.ClaudePID, h.ClaudeStart)
	})
}

// tools returns how many tool calls with s in their command were run.
func (m *machine) tools(s string) int {
	m.t.Helper()
	n := 0
	for _, l := range m.journal() {
		if l.Event == "tool" && strings.Contains(l.Text, s) {
			n++
		}
	}
	return n
}
