package chat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func started(turn core.TurnID, ids ...core.MessageID) core.Update {
	return core.Update{At: epoch, Kind: core.UpdateStarted, Turn: turn, Messages: ids}
}

func outcome(id core.MessageID, turn core.TurnID, r core.Reply) core.Update {
	return core.Update{At: epoch, Kind: core.UpdateResult, Turn: turn, Message: &core.Message{ID: id, Turn: turn, State: r.State, Reply: r}}
}

// spoken is an event of a turn with content of claude or, for a result of a tool, of the user.
func spoken(turn core.TurnID, role, content string) core.Update {
	return core.Update{At: epoch, Kind: core.UpdateEvent, Turn: turn, Raw: []byte(`{"type":"` + role + `","uuid":"` + fmt.Sprintf("%s-%x", turn, content) + `","message":{"id":"m","content":[` + content + `]}}`)}
}

// TestTurn shows texts and calls of a turn as they end, and the answer once.
func TestTurn(t *testing.T) {
	t.Parallel()
	k := newTalk()
	var lines []line
	for _, u := range []core.Update{
		started("t1", "m1"),
		spoken("t1", "assistant", `{"type":"text","text":"I look."}`),
		spoken("t1", "assistant", `{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"ls"}}`),
		spoken("t1", "user", `{"type":"tool_result","tool_use_id":"c1","is_error":true}`),
		spoken("t1", "assistant", `{"type":"tool_use","id":"c2","name":"Read","input":{"file_path":"/x"}}`),
		spoken("t1", "user", `{"type":"tool_result","tool_use_id":"c2"}`),
		spoken("t1", "assistant", `{"type":"text","text":"done"}`),
		outcome("m1", "t1", core.Reply{State: core.Answered, Text: "done", CostUSD: 0.01}),
	} {
		lines = append(lines, k.take(u)...)
	}
	want := []line{{asClaude, "I look."}, {asFailedTool, "Bash: ls · failed"}, {asTool, "Read: /x"}, {asClaude, "done"}, {asNote, "0s · $0.0100"}}
	if !slices.Equal(lines, want) {
		t.Errorf("it shows %v, want %v", lines, want)
	}
}

// TestLateWords has the outcome of a turn be found out, as after the gateway was away,
// before it is heard what was said in it.
func TestLateWords(t *testing.T) {
	t.Parallel()
	k := newTalk()
	k.sent(epoch, &api.Accepted{ID: "m1"})
	k.take(started("t1", "m1"))
	lines := k.found(found{at: epoch, over: []api.Message{{Accepted: api.Accepted{ID: "m1", TurnID: "t1", State: "answered"}, Text: "done"}}})
	hear := func(u core.Update) { lines = append(lines, k.take(u)...) }
	hear(started("t1", "m1"))
	if k.busy() {
		t.Error("a turn is taken for one that runs, which is over")
	}
	done := core.Reply{State: core.Answered, Text: "done"}
	hear(spoken("t1", "assistant", `{"type":"text","text":"done"}`))
	hear(outcome("m1", "t1", done))
	hear(started("t2", "m2"))
	hear(spoken("t2", "assistant", `{"type":"text","text":"done"}`)) // the same words, in another turn
	hear(outcome("m2", "t2", done))
	want := []line{{asClaude, "done"}, {asNote, "0s"}, {asClaude, "done"}, {asNote, "0s"}}
	if !slices.Equal(lines, want) {
		t.Errorf("it shows %v, want %v", lines, want)
	}
}

// TestEndUnheard has a turn end while the gateway was away, whose messages are not known.
func TestEndUnheard(t *testing.T) {
	t.Parallel()
	k := newTalk()
	k.fold.Adopt(core.ChannelStatus{State: core.StateRunning, Turn: "t1", Since: epoch})
	if !k.busy() || k.turn() != "t1" {
		t.Errorf("the turn %q runs", k.turn())
	}
	if k.found(found{at: epoch, state: core.StateReady}); !k.busy() {
		t.Error("a turn that began after the channel was looked at is taken for ended")
	}
	if lines := k.found(found{at: epoch, turn: "t1", state: core.StateReady}); k.busy() || len(lines) > 0 {
		t.Errorf("it is busy: %v, shows %v", k.busy(), lines)
	}
}

// TestNeverBegan has a message be cancelled while it waits: it is said once, and not how
// long that took. Of a turn that was ended it is.
func TestNeverBegan(t *testing.T) {
	t.Parallel()
	k := newTalk()
	k.sent(epoch, &api.Accepted{ID: "m1"})
	got := k.take(outcome("m1", "", core.Reply{State: core.Cancelled, IsError: true, Code: "cancelled", Text: "Cancelled before it was begun."}))
	if want := []line{{asProblem, "Cancelled before it was begun."}}; !slices.Equal(got, want) || k.busy() {
		t.Errorf("it shows %v, want %v; busy: %v", got, want, k.busy())
	}
	k.take(started("t1", "m2"))
	got = k.take(outcome("m2", "t1", core.Reply{State: core.Failed, IsError: true, Code: "interrupted", Text: "Interrupted on request.", Duration: 1500 * time.Millisecond}))
	if want := []line{{asProblem, "Interrupted on request."}, {asNote, "1.5s · interrupted"}}; !slices.Equal(got, want) {
		t.Errorf("it shows %v, want %v", got, want)
	}
}

// TestAcceptedLate has the reply that a message is accepted come after what the channel
// tells of it: two connections, of which either may be first.
func TestAcceptedLate(t *testing.T) {
	t.Parallel()
	k := newTalk()
	k.take(started("t1", "m1", "m2"))
	k.sent(epoch, &api.Accepted{ID: "m1"})
	if got := k.activity(epoch); got != "Working · 0:00" {
		t.Errorf("while its turn runs it says %q", got)
	}
	k.take(outcome("m1", "t1", core.Reply{State: core.Answered, Coalesced: true, Into: "m2"}))
	k.take(outcome("m2", "t1", core.Reply{State: core.Answered, Text: "done"}))
	k.sent(epoch, &api.Accepted{ID: "m1"})
	k.sent(epoch, &api.Accepted{ID: "m2"})
	if k.busy() || k.activity(epoch) != "" {
		t.Errorf("when all is over it says %q", k.activity(epoch))
	}
	k.sent(epoch, &api.Accepted{ID: "m3", Position: 1, Why: "no login"})
	if got := k.activity(epoch); !k.busy() || got != "no login · 1 waiting" {
		t.Errorf("of one that waits it says %q", got)
	}
}

// TestPendingIsOlder has the list of what is asked come after it was heard that that is
// answered.
func TestPendingIsOlder(t *testing.T) {
	t.Parallel()
	k := newTalk()
	k.take(core.Update{Kind: core.UpdateApprovalClosed, Approval: &core.Approval{ID: "a1", State: core.ApprovalAllowed}})
	pending := func(id string) found {
		return found{sure: true, pending: []core.Approval{{ID: id, State: core.ApprovalPending, Tool: "Bash"}}}
	}
	if lines := k.found(pending("a1")); len(lines) > 0 || len(k.asks) > 0 {
		t.Errorf("it asks for what is answered: %v", lines)
	}
	if lines := k.found(pending("a2")); len(lines) != 1 || len(k.asks) != 1 {
		t.Errorf("it does not ask: %v", lines)
	}
}

// TestWaitsNoLonger has an approval end unheard, while the gateway was away: what is asked
// next is asked, and the words after that are a message again.
func TestWaitsNoLonger(t *testing.T) {
	t.Parallel()
	k := newTalk()
	a1 := core.Approval{ID: "a1", State: core.ApprovalPending, Tool: "Bash", Input: []byte(`{"command":"ls"}`)}
	a2, a3 := core.Approval{ID: "a2", State: core.ApprovalPending, Tool: "Write"}, core.Approval{ID: "a3", State: core.ApprovalPending, Tool: "Edit"}
	k.asked(a1)
	known := k.asking()
	k.asked(a3) // heard after the gateway was asked
	if lines := k.found(found{known: known, again: "a1"}); len(lines) != 1 || len(k.asks) != 2 {
		t.Errorf("of a gateway that says nothing it takes %v", lines)
	}
	lines := k.found(found{sure: true, known: known, again: "a1", pending: []core.Approval{a2}})
	if len(lines) != 2 || !strings.Contains(lines[0].text, "Bash ls: waits no longer") || !strings.Contains(lines[1].text, "Edit") {
		t.Errorf("it shows %v", lines)
	}
	if ids := k.asking(); !slices.Equal(ids, []string{"a3", "a2"}) {
		t.Errorf("%v wait", ids)
	}
	if lines := k.asked(a1); len(lines) > 0 || len(k.asks) != 3 {
		t.Errorf("one that is asked for after all is not: %v", lines)
	}
}
