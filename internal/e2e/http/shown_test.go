package http

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/sessionhost/claude"
)

// TestRecordedTextsAreShownOnce shows each recorded turn of claude as an adapter
// does: every text of the agent's own is either said or in the answer, and none is
// both, whatever else happens in the turn.
func TestRecordedTextsAreShownOnce(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("sessionhost/claude/testdata/stream/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	texts := 0
	for _, file := range files {
		turn := shownTurn{t: t, name: filepath.Base(file), fold: progress.New(progress.Options{Show: claude.Show})}
		recording, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(recording) {
			var r struct {
				Dir  string
				Line json.RawMessage
			}
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			if r.Dir == "out" {
				turn.take(r.Line)
			}
		}
		texts += turn.texts
	}
	if texts < 30 {
		t.Errorf("only %d texts", texts)
	}
}

// A shownTurn shows one turn of claude after the other.
type shownTurn struct {
	t     *testing.T
	name  string
	fold  *progress.Fold
	n     int
	wrote []string
	said  []string
	texts int
}

func (s *shownTurn) take(line json.RawMessage) {
	ev, err := claude.Decode(line)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, w := range claude.Show(line) {
		if w.Kind == core.DisplayText && w.Parent == "" {
			s.wrote = append(s.wrote, w.Text)
		}
	}
	u := core.Update{Kind: core.UpdateEvent, Turn: core.TurnID(rune('a' + s.n)), Raw: line}
	s.note(s.fold.Take(u))
	if ev.Type == claude.TypeResult {
		r := ev.Result()
		m := &core.Message{ID: core.MessageID("message " + string(u.Turn)), Turn: u.Turn, Reply: core.Reply{State: core.Answered, Text: r.Text}}
		s.note(s.fold.Take(core.Update{Kind: core.UpdateResult, Turn: u.Turn, Message: m}))
		s.check(r.Text)
		s.n, s.wrote, s.said = s.n+1, nil, nil
	}
}

func (s *shownTurn) note(n progress.News) {
	for _, said := range n.Said {
		s.said = append(s.said, said.Text)
	}
}

// check holds what was said and the answer to what was written.
func (s *shownTurn) check(answer string) {
	s.t.Helper()
	all := strings.Join(append(s.said, answer), "\n")
	for _, text := range s.wrote {
		s.texts++
		if n := strings.Count(all, strings.TrimSpace(text)); n != 1 {
			s.t.Errorf("%s: the text %.60q is shown %d times: said %.60q, answer %.60q", s.name, text, n, s.said, answer)
		}
	}
	if len(s.said) > len(s.wrote) {
		s.t.Errorf("%s: said %q of %q", s.name, s.said, s.wrote)
	}
}
