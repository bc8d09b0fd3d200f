package e2e

import (
	"strings"
	"syscall"
	"testing"
)

func TestThreeTurnsOnOneWarmProcess(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	g.say("http", "echo one").want(t, "one")
	first := g.say("http", "pid").str("text")
	if second := g.say("http", "pid").str("text"); second != first {
		t.Errorf("third turn ran in process %s, the second in %s", second, first)
	}
	if n := g.balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}

func TestConversationSurvivesKillOfDaemon(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.say("http", "echo before").want(t, "before")
	id := g.tell("http", "wait "+m.path("go"))
	m.eventually("turn runs", func() bool { return m.begun("wait ") == 1 })
	g.kill()
	m.touch("go")
	g = m.start()
	if a := g.outcome(id); a.str("state") != "answered" {
		t.Errorf("outcome is %s", a.body)
	}
	if texts := g.say("http", "history").str("text"); !strings.Contains(texts, "echo before") {
		t.Errorf("the conversation is lost: %s", texts)
	}
	if n := m.begun("wait "); n != 1 {
		t.Errorf("turn was begun %d times, want once", n)
	}
	g.balanced()
}

func TestInterruptSignalEndsEverything(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.say("a", "echo 1").want(t, "1")
	g.say("b", "echo 2").want(t, "2")
	if n := len(m.hosts()); n != 2 {
		t.Fatalf("%d hosts, want 2", n)
	}
	g.signal(syscall.SIGINT)
	if hosts := m.hosts(); len(hosts) != 0 {
		t.Errorf("hosts left after SIGINT: %v", hosts)
	}
}
