package realclaude

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/internal/e2e/harness"
	"bareclaw/sessionhost/claude"
)

// TestRealTurnIsShown has the real CLI write a text, a file and a text. What is
// shown comes in that order, the pieces of a text are together the text, and the
// first text is said, the last one answered, the file's change told.
func TestRealTurnIsShown(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t, "BARECLAW_ALLOWED_TOOLS=Write")
	g := m.Start()
	said := g.Watch("http")
	first := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.Before.Store(nil)
		writeAndCall(w, "I will write ü it down.", "Write", map[string]string{"file_path": m.Path("note.txt"), "content": "a note\n"})
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

// writeAndCall writes a reply of the model that the scripts do not have: a text in
// pieces, and then a call.
func writeAndCall(w http.ResponseWriter, text, tool string, input map[string]string) {
	quoted := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // strings
		}
		return string(b)
	}
	events := []string{
		`{"type":"message_start","message":{"id":"msg_write","type":"message","role":"assistant","model":"claude-test","content":[],` +
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	}
	for _, piece := range strings.SplitAfter(text, " ") {
		events = append(events, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+quoted(piece)+`}}`)
	}
	events = append(events, `{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_write","name":`+quoted(tool)+`,"input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":`+quoted(quoted(input))+`}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}`,
		`{"type":"message_stop"}`)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, e) // claude may be gone
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
