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
	"bareclaw/internal/testkit/check"
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
		recording, err := os.ReadFile(file)
		check.OK(t, err)
		fold, turn := progress.New(progress.Options{Show: claude.Show}), 'a'
		var wrote, said []string // in this turn
		take := func(u core.Update) {
			for _, s := range fold.Take(u).Said {
				said = append(said, s.Text)
			}
		}
		for line := range bytes.Lines(recording) {
			var r struct {
				Dir  string
				Line json.RawMessage
			}
			check.OK(t, json.Unmarshal(line, &r))
			if r.Dir != "out" {
				continue
			}
			ev, err := claude.Decode(r.Line)
			check.OK(t, err)
			for _, w := range claude.Show(r.Line) {
				if w.Kind == core.DisplayText && w.Parent == "" {
					wrote = append(wrote, w.Text)
				}
			}
			id := core.TurnID(turn)
			take(core.Update{Kind: core.UpdateEvent, Turn: id, Raw: r.Line})
			if ev.Type != claude.TypeResult {
				continue
			}
			answer := ev.Result().Text
			take(core.Update{Kind: core.UpdateResult, Turn: id, Message: &core.Message{
				ID: core.MessageID("message " + string(id)), Turn: id, Reply: core.Reply{State: core.Answered, Text: answer},
			}})
			all := strings.Join(append(said, answer), "\n")
			for _, text := range wrote {
				if n := strings.Count(all, strings.TrimSpace(text)); n != 1 || len(said) > len(wrote) {
					t.Errorf("%s: the text %.60q is shown %d times: said %.60q, answer %.60q", file, text, n, said, answer)
				}
			}
			texts, turn, wrote, said = texts+len(wrote), turn+1, nil, nil
		}
	}
	if texts < 30 {
		t.Errorf("only %d texts", texts)
	}
}
