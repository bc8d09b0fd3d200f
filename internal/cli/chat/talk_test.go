package chat

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// TestLateWords has the outcome of a turn be found out, as after the gateway was away,
// before it is heard what was said in it.
func TestLateWords(t *testing.T) {
	t.Parallel()
	at, said := time.Unix(0, 0), func(text string) shown { return shown{{Kind: core.DisplayText, Text: text}} }
	k := newTalk()
	k.sent(&api.Accepted{ID: "m1"})
	k.take(at, api.Started{TurnID: "t1", Messages: []string{"m1"}})
	var lines []line
	hear := func(v any) { lines = append(lines, k.take(at, v)...) }
	lines = append(lines, k.found(found{over: []api.Message{{Accepted: api.Accepted{ID: "m1", TurnID: "t1"}, Text: "done"}}})...)
	hear(api.Started{TurnID: "t1", Messages: []string{"m1"}})
	if k.busy() {
		t.Error("a turn is taken for one that runs, which is over")
	}
	hear(said("done"))
	hear(api.Message{Accepted: api.Accepted{ID: "m1", TurnID: "t1"}, Text: "done"})
	hear(api.Started{TurnID: "t2", Messages: []string{"m2"}})
	hear(said("done")) // the same words, in another turn
	hear(api.Message{Accepted: api.Accepted{ID: "m2", TurnID: "t2"}, Text: "done"})
	want := []line{{asClaude, "done"}, {asNote, "0s"}, {asClaude, "done"}, {asNote, "0s"}}
	if !slices.Equal(lines, want) {
		t.Errorf("it shows %v, want %v", lines, want)
	}
}

// TestNeverBegan has a message be cancelled while it waits: it is said once, and not how
// long that took. Of a turn that was ended it is.
func TestNeverBegan(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	k := newTalk()
	k.sent(&api.Accepted{ID: "m1"})
	got := k.take(at, api.Message{Accepted: api.Accepted{ID: "m1", State: "cancelled"}, IsError: true, Code: "cancelled", Text: "Cancelled before it was begun."})
	if want := []line{{asProblem, "Cancelled before it was begun."}}; !slices.Equal(got, want) || k.busy() {
		t.Errorf("it shows %v, want %v; busy: %v", got, want, k.busy())
	}
	k.take(at, api.Started{TurnID: "t1", Messages: []string{"m2"}})
	got = k.take(at, api.Message{Accepted: api.Accepted{ID: "m2", TurnID: "t1"}, IsError: true, Code: "interrupted", Text: "Interrupted on request.", DurationMS: 1500})
	if want := []line{{asProblem, "Interrupted on request."}, {asNote, "1.5s · interrupted"}}; !slices.Equal(got, want) {
		t.Errorf("it shows %v, want %v", got, want)
	}
}

// TestAcceptedLate has the reply that a message is accepted come after what the channel
// tells of it: two connections, of which either may be first.
func TestAcceptedLate(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	k := newTalk()
	k.take(at, api.Started{TurnID: "t1", Messages: []string{"m1", "m2"}})
	k.sent(&api.Accepted{ID: "m1"})
	if got := k.activity(at); got != "working · 0s" {
		t.Errorf("while its turn runs it says %q", got)
	}
	k.take(at, api.Message{Accepted: api.Accepted{ID: "m1", TurnID: "t1"}, Coalesced: true})
	k.take(at, api.Message{Accepted: api.Accepted{ID: "m2", TurnID: "t1"}, Text: "done"})
	k.sent(&api.Accepted{ID: "m1"})
	k.sent(&api.Accepted{ID: "m2"})
	if k.busy() || k.activity(at) != "" {
		t.Errorf("when all is over it says %q", k.activity(at))
	}
	k.sent(&api.Accepted{ID: "m3"})
	if got := k.activity(at); got != "waiting" {
		t.Errorf("of one that waits it says %q", got)
	}
}

// TestPendingIsOlder has the list of what is asked come after it was heard that that is
// answered.
func TestPendingIsOlder(t *testing.T) {
	t.Parallel()
	k := newTalk()
	k.take(time.Unix(0, 0), approvalClosed(api.Approval{ID: "a1", State: "allowed"}))
	if lines := k.asked(api.Approval{ID: "a1", State: "pending", Tool: "Bash"}); len(lines) > 0 || len(k.asks) > 0 {
		t.Errorf("it asks for what is answered: %v", lines)
	}
	if lines := k.asked(api.Approval{ID: "a2", State: "pending", Tool: "Bash"}); len(lines) != 1 || len(k.asks) != 1 {
		t.Errorf("it does not ask: %v", lines)
	}
}

// TestWaitsNoLonger has an approval end unheard, while the gateway was away: what is asked
// next is asked, and the words after that are a message again.
func TestWaitsNoLonger(t *testing.T) {
	t.Parallel()
	k := newTalk()
	a1 := api.Approval{ID: "a1", State: "pending", Tool: "Bash", Input: []byte(`{"command":"ls"}`)}
	a2, a3 := api.Approval{ID: "a2", State: "pending", Tool: "Write"}, api.Approval{ID: "a3", State: "pending", Tool: "Edit"}
	k.asked(a1)
	known := k.asking()
	k.asked(a3) // heard after the gateway was asked
	if lines := k.askedOf(asked{known: known, again: "a1"}); len(lines) != 1 || len(k.asks) != 2 {
		t.Errorf("of a gateway that says nothing it takes %v", lines)
	}
	lines := k.askedOf(asked{sure: true, known: known, again: "a1", pending: []api.Approval{a2}})
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
