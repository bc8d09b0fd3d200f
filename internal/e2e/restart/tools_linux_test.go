package restart

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// answer fails unless the answer of a message has all of the words.
func answer(g *harness.Gateway, id string, words ...string) {
	g.T.Helper()
	text := g.Outcome(id).Str("text")
	for _, w := range words {
		if !strings.Contains(text, w) {
			g.T.Errorf("answer is %q, which lacks %q", text, w)
		}
	}
}

// schedules returns how many schedules there are.
func schedules(g *harness.Gateway) int {
	g.T.Helper()
	n := 0
	for _, s := range g.Must("GET", "/schedules", nil, 200).Array("schedules") {
		if s.Str("id") != "heartbeat" {
			n++
		}
	}
	return n
}

// TestToolCalledWithoutDaemon: a tool that is called while no daemon runs is carried out by the
// next one, once.
func TestToolCalledWithoutDaemon(t *testing.T) {
	m, g := harness.Started(t)
	id := g.Tell("a", "mcp "+m.Path("go")+` schedule_create {"text":"later","when":"in 20h"}`)
	m.Eventually("the turn runs", func() bool { return m.Begun("mcp") == 1 })
	g.Kill()
	m.Touch("go")
	m.Eventually("the tool is called", func() bool { return m.Did("call", "schedule_create") })
	g = m.Start()
	answer(g, id, `"text":"later"`, `"channel":"a"`)
	if n := schedules(g); n != 1 {
		t.Errorf("%d schedules", n)
	}
	g.Balanced()
}

// TestToolCutByKill kills everything but the session during calls of tools. A message to another
// channel is sent once, and its reply comes; what became of a restart is not known.
func TestToolCutByKill(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	building, _ := heldBuild(m) // whose shell the end of the test ends
	g := m.Start()
	g.Say("b", "echo hello")
	sent := g.Tell("a", `mcp - channel_send {"channel":"b","text":"wait `+m.Path("go")+`"}`)
	m.Eventually("the message is being answered", func() bool { return m.BegunOn("b", "wait") == 1 })
	restarted := g.Tell("c", "mcp - restart_self {}")
	m.Eventually("the gateway is being restarted", building)
	g.Kill()
	g = m.Start()
	answer(g, restarted, "outcome unknown: restart_self")
	m.Touch("go")
	answer(g, sent, `"reply":"waited for `, `"state":"answered"`)
	if n := len(g.History("b")); n != 2 {
		t.Errorf("%d messages on the other channel, want 2", n)
	}
	if n := m.BegunOn("b", "wait"); n != 1 {
		t.Errorf("the message was begun %d times", n)
	}
	g.Balanced()
}

// TestToolCallsOfACutTurn kills everything during a call. The turn is not run again, and the agent
// that continues hears which tool of the gateway it had called.
func TestToolCallsOfACutTurn(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	building, _ := heldBuild(m) // whose shell the end of the test ends
	g := m.Start()
	id := g.Tell("a", "once "+m.Path("once")+" mcp - restart_self {}")
	m.Eventually("the gateway is being restarted", building)
	g.Kill()
	m.EndHosts()
	g = m.Start()
	g.Outcome(id).Failed(t, "interrupted", "not run again")
	g.Must("POST", "/messages/"+id+"/retry", nil, 200).Want(t, "again")
	if m.Begun("restart_self (outcome unknown)") != 1 {
		t.Error("the agent does not hear of its call")
	}
	g.Balanced()
}

// TestRestartByTool restarts the gateway by a tool, in the middle of other calls: the caller has
// its answer, and the other call goes on at the next process.
func TestRestartByTool(t *testing.T) {
	m, g := harness.Started(t)
	g.Say("b", "echo hello")
	sent := g.Tell("a", `mcp - channel_send {"channel":"b","text":"wait `+m.Path("go")+`"}`)
	m.Eventually("the message is being answered", func() bool { return m.BegunOn("b", "wait") == 1 })
	generation := g.Generation()
	answer(g, g.Tell("c", "mcp - restart_self {}"), `"status":"restarting"`)
	g.Restarted(generation)
	m.Touch("go")
	answer(g, sent, `"reply":"waited for `)
	if n := m.BegunOn("b", "wait"); n != 1 {
		t.Errorf("the message was begun %d times", n)
	}
	g.Balanced()
}
