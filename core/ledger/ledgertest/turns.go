package ledgertest

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

func testTurnKeepsEverything(t *testing.T, s Subject) {
	l := s.open(t)
	m := Message("c")
	want := core.Turn{
		ID:        core.TurnID(NewID()),
		Channel:   m.Channel,
		SessionID: "s1",
		Opens:     true,
		Members:   []core.MessageID{m.ID},
		Line:      []byte("{}\n"),
		Steered:   true,
		CanAsk:    true,
		BegunAt:   Day,
		Notices:   []core.Notice{{Code: "a", Text: "b"}},
	}
	MustWrite(t, l, Accepted(m, &want))
	wantTurn(t, l, want)

	want.SessionID = "s2"
	want.Notices = append(want.Notices, core.Notice{Code: "c"})
	MustWrite(t, l, core.Change{Update: []*core.Turn{&want}})
	wantTurn(t, l, want)

	want.EndedAt = Day.Add(time.Hour)
	want.Code = "interrupted"
	want.SessionID = "s3"
	want.Marks = []core.Mark{{At: Day, What: "begun", Detail: "d"}}
	want.Result = &core.Result{
		Turns:       []core.TurnID{want.ID, "other"},
		Background:  true,
		Text:        "words",
		IsError:     true,
		Interrupted: true,
		Code:        "code",
		Error:       "error",
		SessionID:   "s3",
		TotalCost:   2.5,
		NumTurns:    7,
	}
	MustWrite(t, l, end(&want))
	wantTurn(t, l, want)

	again := want
	again.EndedAt = Day.Add(2 * time.Hour)
	again.Code = "later"
	again.Result = nil
	again.SessionID = "s4"
	MustWrite(t, l, core.Change{End: []*core.Turn{&again}, Update: []*core.Turn{&again}})
	wantTurn(t, l, want) // a turn that has an end keeps it
}

func wantTurn(t *testing.T, l Ledger, want core.Turn) {
	t.Helper()
	got, err := l.Turn(t.Context(), want.ID)
	wantRead(t, "turn", got, err, want)
}

func testSessionUse(t *testing.T, s Subject) {
	l := s.open(t)
	m := Message("c")
	turn := TurnOf(m)
	turn.SessionID = "ours"
	turn.Opens = true
	MustWrite(t, l, Accepted(m, turn))
	wantUse(t, l, "ours", core.SessionUse{Ours: true})

	turn.SessionID = "next" // a later beginning of the same turn
	MustWrite(t, l, core.Change{Update: []*core.Turn{turn}})
	wantUse(t, l, "next", core.SessionUse{Ours: true})

	MustWrite(t, l, Answered(m, turn))
	wantUse(t, l, "next", core.SessionUse{Ours: true, Completed: true, TotalCost: 1.5})
	wantUse(t, l, "ours", core.SessionUse{Ours: true})

	m2 := Message("c")
	t2 := TurnOf(m2)
	t2.SessionID = "theirs"
	MustWrite(t, l, Accepted(m2, t2))
	wantUse(t, l, "theirs", core.SessionUse{})
	MustWrite(t, l, Answered(m2, t2))
	wantUse(t, l, "theirs", core.SessionUse{Completed: true, TotalCost: 1.5})

	m3 := Message("c")
	t3 := TurnOf(m3)
	t3.SessionID = "next"
	MustWrite(t, l, Accepted(m3, t3))
	t3.EndedAt = Day
	MustWrite(t, l, end(t3)) // without a result
	wantUse(t, l, "next", core.SessionUse{Ours: true, Completed: true, TotalCost: 1.5})
}

func wantUse(t *testing.T, l Ledger, id string, want core.SessionUse) {
	t.Helper()
	got, err := l.SessionUse(t.Context(), id)
	check.OK(t, err)
	if got != want {
		t.Errorf("use of session %q = %+v, want %+v", id, got, want)
	}
}

func testApprovals(t *testing.T, s Subject) {
	l := s.open(t)
	ctx := t.Context()
	first := core.Approval{
		ID:        "z",
		Channel:   "c",
		Message:   "m",
		Turn:      "t",
		RequestID: "r",
		Tool:      "Bash",
		Input:     json.RawMessage(`{"command": "ls <x>"}`),
		Prompt:    core.Prompt{Text: "list it", Truncated: true, Blocks: []core.Block{{Type: "image", MediaType: "image/png", Bytes: 3}}},
		CreatedAt: Day,
		ExpiresAt: Day.Add(time.Minute),
		State:     core.ApprovalPending,
	}
	second := first
	second.ID = "a"
	second.Suggestion = json.RawMessage(`[{}]`)
	second.Why = "It acts on others."
	other := first
	other.ID = "k"
	other.Turn = "another"
	MustWrite(t, l, approvals(&first, &second, &other))
	pending, err := l.PendingApprovals(ctx)
	if want := []core.Approval{first, second, other}; err != nil || !reflect.DeepEqual(pending, want) {
		t.Errorf("pending = %+v, %v, want %+v", pending, err, want)
	}
	first.State = core.ApprovalDenied
	first.Reason = "no"
	first.DecidedBy = "Ann"
	first.DecidedAt = Day.Add(time.Second)
	MustWrite(t, l, approvals(&first))
	got, err := l.Approval(ctx, "z")
	wantRead(t, "approval", got, err, first)
	if pending, err = l.PendingApprovals(ctx); err != nil || !reflect.DeepEqual(pending, []core.Approval{second, other}) {
		t.Errorf("pending = %+v, %v", pending, err)
	}
	of, err := l.TurnApprovals(ctx, "t")
	wantRead(t, "of turn", of, err, []core.Approval{first, second})
}

func testBackgrounds(t *testing.T, s Subject) {
	l := s.open(t)
	var all []core.Background
	for i, id := range []string{"b", "c", "a"} {
		b := core.Background{
			ID:        id,
			Channel:   "c",
			Text:      "text " + id,
			IsError:   i == 1,
			CreatedAt: Day.Add(-time.Duration(i) * time.Hour),
		}
		all = append([]core.Background{b}, all...)
		MustWrite(t, l, background(&b, &core.Background{ID: "other " + id, Channel: "d", CreatedAt: Day}))
	}
	got, err := l.Backgrounds(t.Context(), "c", 2)
	wantRead(t, "backgrounds", got, err, all[:2])
	if got, err := l.Backgrounds(t.Context(), "c", 0); err != nil || len(got) != 0 {
		t.Errorf("no backgrounds asked for, got %+v, %v", got, err)
	}
}
