package http

import (
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestThreeTurnsOnOneWarmProcess(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	g.Say("http", "echo one").Want(t, "one")
	first := g.Say("http", "pid").Str("text")
	if second := g.Say("http", "pid").Str("text"); second != first {
		t.Errorf("third turn ran in process %s, the second in %s", second, first)
	}
	if n := g.Balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}

func TestConversationSurvivesKillOfDaemon(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	g.Say("http", "echo before").Want(t, "before")
	id := g.Tell("http", "wait "+m.Path("go"))
	m.Eventually("turn runs", func() bool { return m.Begun("wait ") == 1 })
	g.Kill()
	m.Touch("go")
	g = m.Start()
	if a := g.Outcome(id); a.Str("state") != "answered" {
		t.Errorf("outcome is %s", a.Body)
	}
	if texts := g.Say("http", "history").Str("text"); !strings.Contains(texts, "echo before") {
		t.Errorf("the conversation is lost: %s", texts)
	}
	if n := m.Begun("wait "); n != 1 {
		t.Errorf("turn was begun %d times, want once", n)
	}
	g.Balanced()
}

func TestInterruptSignalEndsEverything(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	g.Say("a", "echo 1").Want(t, "1")
	g.Say("b", "echo 2").Want(t, "2")
	if n := len(m.Hosts()); n != 2 {
		t.Fatalf("%d hosts, want 2", n)
	}
	g.Signal(syscall.SIGINT)
	if hosts := m.Hosts(); len(hosts) != 0 {
		t.Errorf("hosts left after SIGINT: %v", hosts)
	}
}
