package realclaude

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/messagesapi"
	"bareclaw/sessionhost/claude"
)

// TestRealTurnIsShown has the real CLI write a text, a file and a text. What is
// shown comes in that order, the pieces of a text are together the text, and the
// first text is said, the last one answered, the file's change told.
func TestRealTurnIsShown(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_ALLOWED_TOOLS=Write")
	said := g.Watch("http")
	first := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.Before.Store(nil)
		s := messagesapi.Reply(w, r)
		s.Text("I will write ", "ü ", "it down.")
		s.Tool("toolu_call", "Write", `{"file_path":"`+m.Path("note.txt")+`","content":"a note\n"}`)
		s.End("tool_use")
	})
	m.Before.Store(&first)
	g.Say("http", "echo It is written.").Want(t, "It is written.")
	g.Hear(said, "event: result")

	var order []string
	pieces := ""
	fold := progress.New(progress.Options{Show: claude.Show})
	var news progress.News
	statuses := map[string]bool{}
	for _, raw := range streamedLines(said.String()) {
		for _, s := range claude.Show(raw) {
			switch s.Kind {
			case core.DisplayTextBegin:
				pieces = ""
			case core.DisplayTextDelta:
				pieces += s.Text
				continue
			case core.DisplayText:
				if pieces != s.Text {
					t.Errorf("the pieces %q are the text %q", pieces, s.Text)
				}
			default:
			}
			order = append(order, string(s.Kind))
		}
		u := core.Update{Kind: core.UpdateEvent, Turn: "t", Raw: raw}
		n := fold.Take(u)
		news.Said, news.Changes = append(news.Said, n.Said...), append(news.Changes, n.Changes...)
		statuses[fold.View().Status(u.At)] = true
	}
	want := []string{"text_begin", "text", "tool", "tool", "tool_end", "text_begin", "text"}
	if !slices.Equal(order, want) {
		t.Errorf("shown: %q, want %q", order, want)
	}
	last := fold.Take(core.Update{Kind: core.UpdateResult, Turn: "t", Message: &core.Message{ID: "m", Turn: "t", Reply: core.Reply{State: core.Answered, Text: "It is written."}}})
	if len(news.Said) != 1 || news.Said[0].Text != "I will write ü it down." || last.Said != nil || !last.Ended {
		t.Errorf("said %+v, and at the end %+v", news.Said, last.Said)
	}
	if len(news.Changes) != 1 || news.Changes[0].File != m.Path("note.txt") || news.Changes[0].New != "a note\n" {
		t.Errorf("changes: %+v", news.Changes)
	}
	if !statuses["Writing · 0:00"] || !slices.ContainsFunc(fold.Lines(), func(l progress.Line) bool { return l.Tool == "Write" && l.Ended && !l.IsError }) {
		t.Errorf("statuses %v, lines %v", statuses, fold.Lines())
	}
}

// streamedLines returns the agent's lines of an event stream.
func streamedLines(stream string) []json.RawMessage {
	var lines []json.RawMessage
	for event := range strings.SplitSeq(stream, "\n\n") {
		if _, data, ok := strings.Cut(event, "event: event\ndata: "); ok {
			lines = append(lines, json.RawMessage(data))
		}
	}
	return lines
}
