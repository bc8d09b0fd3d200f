package sqlite_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// What waits gets another content, whatever the size of either, and however lately it
// was accepted.
func TestAmend(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openAt(t, path)
	big := strings.Repeat("x", 1<<14)
	m := message("c")
	mustWrite(t, l, core.Change{Accept: []*core.Message{m}})
	for _, c := range []core.Content{
		{Text: "small"}, {Text: big}, {Text: big + "y"}, {Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"b"}`)}}, {Text: "last"},
	} {
		m.Content = c
		mustWrite(t, l, core.Change{Amend: []*core.Message{m}})
		check.OK(t, l.Close())
		l = openAt(t, path)
		wantMessage(t, l, *m)
	}
	turn := turnOf(m)
	mustWrite(t, l, core.Change{Begin: []*core.Turn{turn}})
	late := *m
	late.Content.Text = "late"
	if err := write(l, core.Change{Amend: []*core.Message{&late}}); !errors.Is(err, core.ErrNotWaiting) {
		t.Errorf("a running message: %v", err)
	}
	if err := write(l, core.Change{Amend: []*core.Message{message("c")}}); !errors.Is(err, core.ErrNotWaiting) {
		t.Errorf("an unknown message: %v", err)
	}
	m.State, m.Turn, m.DispatchedAt = core.Running, turn.ID, turn.BegunAt
	wantMessage(t, l, *m)
}

// What waits is found in its order, by rank before acceptance.
func TestReorder(t *testing.T) {
	t.Parallel()
	l := open(t)
	var ms []*core.Message
	for range 4 {
		m := message("c")
		mustWrite(t, l, core.Change{Accept: []*core.Message{m}})
		ms = append(ms, m)
	}
	mustWrite(t, l, core.Change{Reorder: []core.Rank{{ID: ms[2].ID, Rank: -1}}})
	mustWrite(t, l, core.Change{Reorder: []core.Rank{{ID: ms[3].ID, Rank: -2}}})
	open, _, err := l.Open(t.Context())
	check.OK(t, err)
	for i, want := range []*core.Message{ms[3], ms[2], ms[0], ms[1]} {
		if open[i].ID != want.ID {
			t.Errorf("message %d is %s (rank %d), want %s", i, open[i].ID, open[i].Rank, want.ID)
		}
	}
	mustWrite(t, l, core.Change{Begin: []*core.Turn{turnOf(ms[0])}})
	if err := write(l, core.Change{Reorder: []core.Rank{{ID: ms[0].ID, Rank: -3}}}); !errors.Is(err, core.ErrNotWaiting) {
		t.Errorf("a running message: %v", err)
	}
}
