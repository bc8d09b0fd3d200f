package http

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

func interrupt(g *harness.Gateway, key string, statuses ...int) harness.Answer {
	g.T.Helper()
	return g.Must("POST", "/channels/"+harness.Escaped(key)+"/interrupt", nil, statuses...)
}

func TestInterruptEndsTheTurnAndKeepsTheSession(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"text": "slow 600000 done", "tool": "tool 600000 sleep", "deaf": "mute", // the last ignores interrupts
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			g := m.Start()
			session := g.Say("http", "echo before").Str("session_id")
			running := g.Hold(harness.Obj{"text": text})
			event := map[string]string{"tool": "tool"}[name]
			if event == "" {
				event = "begun"
			}
			m.Eventually("turn runs", func() bool { return m.Did(event, strings.TrimPrefix(text, "tool 600000 ")) })
			late := harness.Lateness(t)
			a := interrupt(g, "http", 200)
			outcome := running.Answer(200)
			g.StoppedWithin(outcome.Str("message_id"), harness.Promised, late())
			if outcome.Str("state") != "cancelled" || !outcome.Flag("is_error") || outcome.Code() != "interrupted" ||
				!strings.Contains(outcome.Str("text"), "nterrupted") || a.Str("turn_id") != outcome.Str("turn_id") {
				t.Errorf("interrupt says %s, outcome is %s", a.Body, outcome.Body)
			}
			after := g.Say("http", "history")
			if after.Str("session_id") != session || !strings.Contains(after.Str("text"), "echo before") || after.JSON["notices"] != nil {
				t.Errorf("session was %s, after the interrupt %s", session, after.Body)
			}
			interrupt(g, "http").Refused(t, "interrupt of an idle channel", 409, "nothing_runs")
			if n := g.Balanced(); n != 3 {
				t.Errorf("%d messages accepted, want 3", n)
			}
		})
	}
}

func TestLateInterruptNeverHitsTheNextTurn(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	first, finish := g.Occupy("http")
	turn := g.Channel("http").Str("turn_id")
	finish()
	g.Outcome(first)
	second, finish := g.Occupy("http")
	g.Must("POST", "/channels/http/interrupt", harness.Obj{"turn_id": turn}).Refused(t, "late interrupt", 409, "nothing_runs")
	if a := g.Must("GET", "/messages/"+second, nil, 200); a.Str("state") != "running" {
		t.Errorf("next turn is %s", a.Body)
	}
	finish()
	if a := g.Outcome(second); a.Str("state") != "answered" {
		t.Errorf("next turn is %s", a.Body)
	}
	interrupt(g, "nobody").Refused(t, "interrupt of an unknown channel", 404, "not_found")
	third, _ := g.Occupy("http")
	turn = g.Channel("http").Str("turn_id")
	if a := g.Must("POST", "/channels/http/interrupt", harness.Obj{"turn_id": turn}, 200); a.Str("turn_id") != turn {
		t.Errorf("interrupt by name: %s", a.Body)
	}
	if a := g.Outcome(third); a.Str("state") != "cancelled" {
		t.Errorf("named turn is %s", a.Body)
	}
	g.Balanced()
}

func TestInterruptWhileClaudeStarts(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "FAKECLAUDE_START=slow:600000", "FAKECLAUDE_START_ONCE="+filepath.Join(t.TempDir(), "once"))
	g := m.Start()
	id := g.Tell("http", "echo never")
	m.Eventually("the turn waits for claude, which starts", func() bool {
		trace := g.Must("GET", "/messages/"+id+"/trace", nil, 200)
		handed := slices.ContainsFunc(trace.Array("timeline"), func(mark harness.Answer) bool { return mark.Str("what") == "handed" })
		return handed && m.Did("start", "")
	})
	interrupt(g, "http", 200)
	if a := g.Outcome(id); a.Str("state") != "cancelled" || a.Code() != "interrupted" {
		t.Errorf("outcome is %s", a.Body)
	}
	g.Say("http", "echo works").Want(t, "works")
	if n := m.Begun("never"); n != 0 {
		t.Error("the interrupted message ran")
	}
	g.Balanced()
}

func TestInterruptRightAfterARestart(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	id, _ := g.Occupy("http")
	g.Kill()
	g = m.Start() // and perhaps has not found the host yet
	interrupt(g, "http", 200)
	if a := g.Outcome(id); a.Str("state") != "cancelled" || a.Code() != "interrupted" {
		t.Errorf("outcome is %s", a.Body)
	}
	g.Say("http", "echo works").Want(t, "works")
	g.Balanced()
}

func TestSteeringFoldsIntoARunningTool(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	first := g.Hold(harness.Obj{"text": "toolwait " + m.Path("go")})
	m.Eventually("tool runs", func() bool { return m.Did("tool", "wait for") })
	steered := g.Hold(harness.Obj{"text": "use the other file", "mode": "steer"})
	m.Eventually("claude has the note", func() bool { return m.Did("taken", "use the other file") })
	if first.Answered() || steered.Answered() {
		t.Error("answered before the turn ended")
	}
	m.Touch("go")
	a := first.Answer(200)
	a.Want(t, "final: ran: wait for "+m.Path("go")+"; noted: use the other file")
	if b := steered.Answer(200); !b.Flag("coalesced") || b.Str("into") != a.Str("message_id") || b.Str("text") != "" || b.Flag("is_error") {
		t.Errorf("steered message got %s", b.Body)
	}
	g.Say("http", "echo next").Want(t, "next")
	if n := g.Balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}

func TestSteeringIntoATextTurnRunsNext(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	first, finish := g.Occupy("http")
	steered := g.Tell("http", "echo steered", "mode", "steer")
	m.Eventually("claude has it", func() bool { return m.Did("taken", "echo steered") })
	later := g.Tell("http", "echo later")
	finish()
	if a := g.Outcome(first); !strings.HasPrefix(a.Str("text"), "waited for") {
		t.Errorf("first message got %s", a.Body)
	}
	a := g.Outcome(steered)
	a.Want(t, "steered")
	if a.Flag("coalesced") {
		t.Errorf("steered message got %s", a.Body)
	}
	g.Outcome(later).Want(t, "later")
	for _, text := range []string{"steered", "later"} {
		if n := m.Begun(text); n != 1 {
			t.Errorf("%s begun %d times, want once", text, n)
		}
	}
	g.Balanced()
}

func TestModeInterruptGoesFirst(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	before := g.Say("http", "echo before")
	first, _ := g.Occupy("http")
	late := harness.Lateness(t)
	a := g.Must("POST", "/message", harness.Obj{"text": "echo urgent", "mode": "interrupt"}, 200)
	a.Want(t, "urgent")
	g.StoppedWithin(first, harness.Promised, late())
	if a.Str("session_id") != before.Str("session_id") {
		t.Errorf("session was %s and is %s", before.Str("session_id"), a.Str("session_id"))
	}
	if a := g.Outcome(first); a.Str("state") != "cancelled" || a.Code() != "interrupted" || !strings.Contains(a.Str("text"), "newer message") {
		t.Errorf("first message got %s", a.Body)
	}
	// With nothing to interrupt it is a message like any other.
	g.Must("POST", "/message", harness.Obj{"text": "echo calm", "mode": "interrupt"}, 200).Want(t, "calm")
	g.Balanced()
}

func TestTimeoutInterruptsTheTurnOnly(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	before := g.Say("http", "echo before")
	next := func(limit string) { // one that ends a turn soon might also end one that only takes its time
		g.Signal(syscall.SIGTERM)
		m.Set("BARECLAW_TIMEOUT_MS=" + limit)
		g = m.Start()
	}
	for _, text := range []string{"wait " + m.Path("never"), "toolwait " + m.Path("never")} {
		next("300")
		a := g.Say("http", text)
		if a.Str("state") != "failed" || !a.Flag("is_error") || a.Code() != "timeout" || !strings.Contains(a.Str("text"), "BARECLAW_TIMEOUT_MS") {
			t.Errorf("outcome is %s", a.Body)
		}
		next("600000")
		after := g.Say("http", "history")
		if after.Str("session_id") != before.Str("session_id") || !strings.Contains(after.Str("text"), "echo before") {
			t.Errorf("session was %s and is %s", before.Str("session_id"), after.Body)
		}
	}
	g.Balanced()
}

func TestWaitingMessageCanBeCancelled(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	running, finish := g.Occupy("http")
	waiting := g.Hold(harness.Obj{"text": "echo cancelled"})
	g.Queued("http", 1)
	kept := g.Tell("http", "echo kept")
	list := g.Must("GET", "/channels/http/messages", nil, 200).Array("messages")
	id := list[1].Str("message_id") // newest first: kept, waiting, running
	if a := g.Must("DELETE", "/messages/"+id, nil, 200); a.Str("state") != "cancelled" || a.Code() != "cancelled" {
		t.Errorf("cancelled message is %s", a.Body)
	}
	if a := waiting.Answer(200); a.Str("message_id") != id || a.Str("state") != "cancelled" || a.Str("error") == "" {
		t.Errorf("whoever waited for it got %s", a.Body)
	}
	for _, other := range []string{running, id} {
		a := g.Must("DELETE", "/messages/"+other, nil)
		a.Refused(t, "cancelling what does not wait", 409, "not_waiting")
		if msg, _ := a.JSON["message"].(map[string]any); msg["message_id"] != other {
			t.Errorf("refusal does not show the message: %s", a.Body)
		}
	}
	g.Must("DELETE", "/messages/nothing", nil).Refused(t, "cancelling what is not", 404, "not_found")
	finish()
	g.Outcome(kept).Want(t, "kept")
	if n := m.Begun("cancelled"); n != 0 {
		t.Error("the cancelled message was run")
	}
	g.Balanced()
}

func TestResetForgetsTheSessionAndKeepsTheHistory(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	old := g.Say("http", "echo secret").Str("session_id")
	host := m.Hosts()["http"]
	running := g.Hold(harness.Obj{"text": "wait " + m.Path("never")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	waiting := g.Tell("http", "echo waiting")
	if a := g.Must("DELETE", "/channels/http", nil, 200); a.Str("status") != "reset" || a.Str("channel") != "http" {
		t.Errorf("reset says %s", a.Body)
	}
	if proc.Alive(host.PID, host.Start) || proc.Alive(host.ClaudePID, host.ClaudeStart) {
		t.Errorf("processes of the old session are alive: %+v", host)
	}
	for _, a := range []harness.Answer{running.Answer(200), g.Outcome(waiting)} {
		if a.Str("state") != "cancelled" || a.Code() != "channel_reset" {
			t.Errorf("open message got %s", a.Body)
		}
	}
	if id, ok := sessionFile(m)["http"]; ok {
		t.Errorf("session file still has %s", id)
	}
	a := g.Say("http", "history")
	if strings.Contains(a.Str("text"), "secret") || a.Str("session_id") == old || a.JSON["notices"] != nil {
		t.Errorf("after the reset: %s", a.Body)
	}
	if n := len(g.Must("GET", "/channels/http/messages", nil, 200).Array("messages")); n != 4 {
		t.Errorf("%d messages in the history, want 4", n)
	}
	// Without a process too, and of what is not there.
	g.Must("DELETE", "/channels/http", nil, 200)
	g.Must("DELETE", "/channels/http", nil, 200)
	g.Must("DELETE", "/channels/nobody", nil).Refused(t, "reset of an unknown channel", 404, "not_found")
	g.Balanced()
}

// TestStalledTurnIsKilled has BARECLAW_STALL_ACTION=kill end the claude of a turn of which
// nothing is heard, whether it would listen or not; the conversation goes on in another one.
func TestStalledTurnIsKilled(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"deaf": "mute", "in a tool": "toolwait NEVER"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			g := m.Start()
			before := g.Say("http", "echo before")
			next := func(setting string) { // a turn that only takes its time might be ended too
				g.Signal(syscall.SIGTERM)
				m.Set(setting)
				g = m.Start()
			}
			m.Set("BARECLAW_STALL_ACTION=kill")
			next("BARECLAW_STALL_AFTER=1s")
			host := m.Hosts()["http"]
			watch := g.Stream("GET", "/channels/http/events", nil)
			a := g.Say("http", text)
			a.Failed(t, "stalled", "Nothing was heard of Claude for ", "Its process was ended; the conversation is kept.")
			if n := watch.Want("notice"); n.Code() != "stalled" || !strings.Contains(n.Str("text"), "Its process is being ended.") {
				t.Errorf("the channel is told %s", n.Body)
			}
			if proc.Alive(host.ClaudePID, host.ClaudeStart) {
				t.Error("claude is alive")
			}
			isTool := func(mark harness.Answer) bool { return mark.Str("what") == "tool" }
			trace := g.Must("GET", "/messages/"+a.Str("message_id")+"/trace", nil, 200)
			if asked := g.Must("GET", "/approvals", nil, 200).Array("approvals"); len(asked) > 0 != slices.ContainsFunc(trace.Array("timeline"), isTool) {
				t.Errorf("whether to go on is asked: %v, after %s", asked, trace.Body)
			}
			watch.Close()
			next("BARECLAW_STALL_AFTER=0")
			after := g.Say("http", "history")
			if after.Str("session_id") != before.Str("session_id") || !strings.Contains(after.Str("text"), "echo before") || after.JSON["notices"] != nil {
				t.Errorf("the conversation does not go on: %s", after.Body)
			}
			g.Balanced()
		})
	}
}
