package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/proc"
)

func (g *gateway) interrupt(key string, statuses ...int) answer {
	g.t.Helper()
	return g.must("POST", "/channels/"+escaped(key)+"/interrupt", nil, statuses...)
}

func TestInterruptEndsTheTurnAndKeepsTheSession(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"text": "slow 600000 done", "tool": "tool 600000 sleep", "deaf": "mute", // the last ignores interrupts
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			session := g.say("http", "echo before").str("session_id")
			running := g.hold(obj{"text": text})
			event := map[string]string{"tool": "tool"}[name]
			if event == "" {
				event = "begun"
			}
			m.eventually("turn runs", func() bool { return m.did(event, strings.TrimPrefix(text, "tool 600000 ")) })
			late := lateness(t)
			a := g.interrupt("http", 200)
			outcome := running.answer(200)
			g.stoppedWithin(outcome.str("message_id"), promised, late())
			if outcome.str("state") != "cancelled" || !outcome.flag("is_error") || outcome.code() != "interrupted" ||
				!strings.Contains(outcome.str("text"), "nterrupted") || a.str("turn_id") != outcome.str("turn_id") {
				t.Errorf("interrupt says %s, outcome is %s", a.body, outcome.body)
			}
			after := g.say("http", "history")
			if after.str("session_id") != session || !strings.Contains(after.str("text"), "echo before") || after.json["notices"] != nil {
				t.Errorf("session was %s, after the interrupt %s", session, after.body)
			}
			g.interrupt("http").refused(t, "interrupt of an idle channel", 409, "nothing_runs")
			if n := g.balanced(); n != 3 {
				t.Errorf("%d messages accepted, want 3", n)
			}
		})
	}
}

// promised is how long a turn may take to end when it is interrupted.
const promised = 2 * time.Second

// lateness tells by how much a busy machine delays what is due at a moment: the most that
// was seen since it was called.
func lateness(t testing.TB) (most func() time.Duration) {
	const step = 5 * time.Millisecond
	var seen atomic.Int64
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		ticks := time.NewTimer(step)
		for due := time.Now().Add(step); ; due = time.Now().Add(step) {
			ticks.Reset(step)
			select {
			case now := <-ticks.C:
				seen.Store(max(seen.Load(), int64(now.Sub(due)), int64(time.Since(due))))
			case <-over:
				return
			}
		}
	}()
	return func() time.Duration { return time.Duration(seen.Load()) }
}

// stoppedWithin fails unless the turn of a message ended in time after the gateway had begun
// to end it, by the gateway's own trace. Each of a dozen steps, in three processes, may be
// delayed as much as anything was.
func (g *gateway) stoppedWithin(id string, limit, late time.Duration) {
	g.t.Helper()
	var stop, end time.Time
	trace := g.must("GET", "/messages/"+id+"/trace", nil, 200)
	for _, mark := range trace.array("timeline") {
		at, err := time.Parse(time.RFC3339Nano, mark.str("at"))
		switch what := mark.str("what"); {
		case err != nil:
			g.t.Fatalf("a mark without a time: %s", mark.body)
		case what == "stop":
			stop = at
		case what == "ended":
			end = at
		}
	}
	if stop.IsZero() || end.IsZero() {
		g.t.Fatalf("the trace has no stop and end: %s", trace.body)
	}
	if took := end.Sub(stop); took > limit+12*late {
		g.t.Errorf("the turn ended %v after it was interrupted, want at most %v (the machine is late by %v)", took, limit, late)
	}
}

func TestLateInterruptNeverHitsTheNextTurn(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	first, finish := g.occupy("http")
	turn := g.channel("http").str("turn_id")
	finish()
	g.outcome(first)
	second, finish := g.occupy("http")
	g.must("POST", "/channels/http/interrupt", obj{"turn_id": turn}).refused(t, "late interrupt", 409, "nothing_runs")
	if a := g.must("GET", "/messages/"+second, nil, 200); a.str("state") != "running" {
		t.Errorf("next turn is %s", a.body)
	}
	finish()
	if a := g.outcome(second); a.str("state") != "answered" {
		t.Errorf("next turn is %s", a.body)
	}
	g.interrupt("nobody").refused(t, "interrupt of an unknown channel", 404, "not_found")
	third, _ := g.occupy("http")
	turn = g.channel("http").str("turn_id")
	if a := g.must("POST", "/channels/http/interrupt", obj{"turn_id": turn}, 200); a.str("turn_id") != turn {
		t.Errorf("interrupt by name: %s", a.body)
	}
	if a := g.outcome(third); a.str("state") != "cancelled" {
		t.Errorf("named turn is %s", a.body)
	}
	g.balanced()
}

func TestInterruptWhileClaudeStarts(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "FAKECLAUDE_START=slow:600000", "FAKECLAUDE_START_ONCE="+filepath.Join(t.TempDir(), "once"))
	g := m.start()
	id := g.tell("http", "echo never")
	m.eventually("the turn waits for claude, which starts", func() bool {
		trace := g.must("GET", "/messages/"+id+"/trace", nil, 200)
		handed := slices.ContainsFunc(trace.array("timeline"), func(mark answer) bool { return mark.str("what") == "handed" })
		return handed && m.did("start", "")
	})
	g.interrupt("http", 200)
	if a := g.outcome(id); a.str("state") != "cancelled" || a.code() != "interrupted" {
		t.Errorf("outcome is %s", a.body)
	}
	g.say("http", "echo works").want(t, "works")
	if n := m.begun("never"); n != 0 {
		t.Error("the interrupted message ran")
	}
	g.balanced()
}

func TestInterruptRightAfterARestart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	id, _ := g.occupy("http")
	g.kill()
	g = m.start() // and perhaps has not found the host yet
	g.interrupt("http", 200)
	if a := g.outcome(id); a.str("state") != "cancelled" || a.code() != "interrupted" {
		t.Errorf("outcome is %s", a.body)
	}
	g.say("http", "echo works").want(t, "works")
	g.balanced()
}

func TestSteeringFoldsIntoARunningTool(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	first := g.hold(obj{"text": "toolwait " + m.path("go")})
	m.eventually("tool runs", func() bool { return m.did("tool", "wait for") })
	steered := g.hold(obj{"text": "use the other file", "mode": "steer"})
	m.eventually("claude has the note", func() bool { return m.did("taken", "use the other file") })
	if first.answered() || steered.answered() {
		t.Error("answered before the turn ended")
	}
	m.touch("go")
	a := first.answer(200)
	a.want(t, "final: ran: wait for "+m.path("go")+"; noted: use the other file")
	if b := steered.answer(200); !b.flag("coalesced") || b.str("into") != a.str("message_id") || b.str("text") != "" || b.flag("is_error") {
		t.Errorf("steered message got %s", b.body)
	}
	g.say("http", "echo next").want(t, "next")
	if n := g.balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}

func TestSteeringIntoATextTurnRunsNext(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	first, finish := g.occupy("http")
	steered := g.tell("http", "echo steered", "mode", "steer")
	m.eventually("claude has it", func() bool { return m.did("taken", "echo steered") })
	later := g.tell("http", "echo later")
	finish()
	if a := g.outcome(first); !strings.HasPrefix(a.str("text"), "waited for") {
		t.Errorf("first message got %s", a.body)
	}
	a := g.outcome(steered)
	a.want(t, "steered")
	if a.flag("coalesced") {
		t.Errorf("steered message got %s", a.body)
	}
	g.outcome(later).want(t, "later")
	for _, text := range []string{"steered", "later"} {
		if n := m.begun(text); n != 1 {
			t.Errorf("%s begun %d times, want once", text, n)
		}
	}
	g.balanced()
}

func TestModeInterruptGoesFirst(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	before := g.say("http", "echo before")
	first, _ := g.occupy("http")
	late := lateness(t)
	a := g.must("POST", "/message", obj{"text": "echo urgent", "mode": "interrupt"}, 200)
	a.want(t, "urgent")
	g.stoppedWithin(first, promised, late())
	if a.str("session_id") != before.str("session_id") {
		t.Errorf("session was %s and is %s", before.str("session_id"), a.str("session_id"))
	}
	if a := g.outcome(first); a.str("state") != "cancelled" || a.code() != "interrupted" || !strings.Contains(a.str("text"), "newer message") {
		t.Errorf("first message got %s", a.body)
	}
	// With nothing to interrupt it is a message like any other.
	g.must("POST", "/message", obj{"text": "echo calm", "mode": "interrupt"}, 200).want(t, "calm")
	g.balanced()
}

func TestTimeoutInterruptsTheTurnOnly(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	before := g.say("http", "echo before")
	next := func(limit string) { // one that ends a turn soon might also end one that only takes its time
		g.signal(syscall.SIGTERM)
		m.set("BARECLAW_TIMEOUT_MS=" + limit)
		g = m.start()
	}
	for _, text := range []string{"wait " + m.path("never"), "toolwait " + m.path("never")} {
		next("300")
		a := g.say("http", text)
		if a.str("state") != "failed" || !a.flag("is_error") || a.code() != "timeout" || !strings.Contains(a.str("text"), "BARECLAW_TIMEOUT_MS") {
			t.Errorf("outcome is %s", a.body)
		}
		next("600000")
		after := g.say("http", "history")
		if after.str("session_id") != before.str("session_id") || !strings.Contains(after.str("text"), "echo before") {
			t.Errorf("session was %s and is %s", before.str("session_id"), after.body)
		}
	}
	g.balanced()
}

func TestWaitingMessageCanBeCancelled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	running, finish := g.occupy("http")
	waiting := g.hold(obj{"text": "echo cancelled"})
	g.queued("http", 1)
	kept := g.tell("http", "echo kept")
	list := g.must("GET", "/channels/http/messages", nil, 200).array("messages")
	id := list[1].str("message_id") // newest first: kept, waiting, running
	if a := g.must("DELETE", "/messages/"+id, nil, 200); a.str("state") != "cancelled" || a.code() != "cancelled" {
		t.Errorf("cancelled message is %s", a.body)
	}
	if a := waiting.answer(200); a.str("message_id") != id || a.str("state") != "cancelled" || a.str("error") == "" {
		t.Errorf("whoever waited for it got %s", a.body)
	}
	for _, other := range []string{running, id} {
		a := g.must("DELETE", "/messages/"+other, nil)
		a.refused(t, "cancelling what does not wait", 409, "not_waiting")
		if msg, _ := a.json["message"].(map[string]any); msg["message_id"] != other {
			t.Errorf("refusal does not show the message: %s", a.body)
		}
	}
	g.must("DELETE", "/messages/nothing", nil).refused(t, "cancelling what is not", 404, "not_found")
	finish()
	g.outcome(kept).want(t, "kept")
	if n := m.begun("cancelled"); n != 0 {
		t.Error("the cancelled message was run")
	}
	g.balanced()
}

func TestResetForgetsTheSessionAndKeepsTheHistory(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	old := g.say("http", "echo secret").str("session_id")
	host := m.hosts()["http"]
	running := g.hold(obj{"text": "wait " + m.path("never")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	waiting := g.tell("http", "echo waiting")
	if a := g.must("DELETE", "/channels/http", nil, 200); a.str("status") != "reset" || a.str("channel") != "http" {
		t.Errorf("reset says %s", a.body)
	}
	if proc.Alive(host.PID, host.Start) || proc.Alive(host.ClaudePID, host.ClaudeStart) {
		t.Errorf("processes of the old session are alive: %+v", host)
	}
	for _, a := range []answer{running.answer(200), g.outcome(waiting)} {
		if a.str("state") != "cancelled" || a.code() != "channel_reset" {
			t.Errorf("open message got %s", a.body)
		}
	}
	if id, ok := m.sessionFile()["http"]; ok {
		t.Errorf("session file still has %s", id)
	}
	a := g.say("http", "history")
	if strings.Contains(a.str("text"), "secret") || a.str("session_id") == old || a.json["notices"] != nil {
		t.Errorf("after the reset: %s", a.body)
	}
	if n := len(g.must("GET", "/channels/http/messages", nil, 200).array("messages")); n != 4 {
		t.Errorf("%d messages in the history, want 4", n)
	}
	// Without a process too, and of what is not there.
	g.must("DELETE", "/channels/http", nil, 200)
	g.must("DELETE", "/channels/http", nil, 200)
	g.must("DELETE", "/channels/nobody", nil).refused(t, "reset of an unknown channel", 404, "not_found")
	g.balanced()
}

// TestStalledTurnIsKilled has BARECLAW_STALL_ACTION=kill end the claude of a turn of which
// nothing is heard, whether it would listen or not; the conversation goes on in another one.
func TestStalledTurnIsKilled(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"deaf": "mute", "in a tool": "toolwait NEVER"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			before := g.say("http", "echo before")
			next := func(setting string) { // a turn that only takes its time might be ended too
				g.signal(syscall.SIGTERM)
				m.set(setting)
				g = m.start()
			}
			m.set("BARECLAW_STALL_ACTION=kill")
			next("BARECLAW_STALL_AFTER=1s")
			host := m.hosts()["http"]
			watch := g.stream("GET", "/channels/http/events", nil)
			a := g.say("http", text)
			a.failed(t, "stalled", "Nothing was heard of Claude for ", "Its process was ended; the conversation is kept.")
			if n := watch.want("notice"); n.code() != "stalled" || !strings.Contains(n.str("text"), "Its process is being ended.") {
				t.Errorf("the channel is told %s", n.body)
			}
			if proc.Alive(host.ClaudePID, host.ClaudeStart) {
				t.Error("claude is alive")
			}
			isTool := func(mark answer) bool { return mark.str("what") == "tool" }
			trace := g.must("GET", "/messages/"+a.str("message_id")+"/trace", nil, 200)
			if asked := g.must("GET", "/approvals", nil, 200).array("approvals"); len(asked) > 0 != slices.ContainsFunc(trace.array("timeline"), isTool) {
				t.Errorf("whether to go on is asked: %v, after %s", asked, trace.body)
			}
			watch.close()
			next("BARECLAW_STALL_AFTER=0")
			after := g.say("http", "history")
			if after.str("session_id") != before.str("session_id") || !strings.Contains(after.str("text"), "echo before") || after.json["notices"] != nil {
				t.Errorf("the conversation does not go on: %s", after.body)
			}
			g.balanced()
		})
	}
}
