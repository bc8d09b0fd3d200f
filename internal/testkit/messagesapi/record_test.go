package messagesapi_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"bareclaw/internal/testkit/messagesapi"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	body := conversation(user("tool:bash true"), assistant(list{toolUse("t1")}),
		user(list{object{"type": "tool_result", "tool_use_id": "t1", "content": list{text("out")}, "is_error": true}}))
	body["system"] = list{text("be"), text("brief")}
	ask(t, s, body)
	ask(t, s, conversation(user("a"), assistant("b"), user(list{image("image/webp", "AAAA"), text("[channel: c]\necho x")})))

	seen := s.Requests()
	if len(seen) != 2 || s.Count() != 2 {
		t.Fatalf("%d requests, count %d, want 2", len(seen), s.Count())
	}
	one, two := seen[0], seen[1]
	if one.N != 1 || one.Model != "claude-test" || one.Stream || one.System != "be\nbrief" || one.Directive != "tool:bash" ||
		one.Text != "tool:bash true" || one.Bytes == 0 || one.Header.Get("X-Api-Key") != "dummy" || !slices.Equal(one.Tools, []string{"Bash", "Agent"}) {
		t.Errorf("first: %+v", one)
	}
	if want := []messagesapi.ToolResult{{ToolUseID: "t1", Text: "out", IsError: true}}; !slices.Equal(one.ToolResults, want) {
		t.Errorf("tool results: %+v, want %+v", one.ToolResults, want)
	}
	if two.N != 2 || two.Directive != "echo" || two.Text != "[channel: c]\necho x" || !slices.Equal(two.Images, []string{"image/webp"}) ||
		!slices.Equal(two.UserTexts, []string{"a", "[channel: c]\necho x"}) || two.ToolResults != nil {
		t.Errorf("second: %+v", two)
	}
}

func TestArrivedComesBeforeTheReply(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	third := s.Arrived(3)
	var asked sync.WaitGroup
	for i := range 3 {
		asked.Go(func() {
			if got, want := reply(t, s, "gate g "+strconv.Itoa(i)), strconv.Itoa(i); got != want {
				t.Errorf("reply %q, want %q", got, want)
			}
		})
	}
	await(t, third, "the third request")
	if got := s.Count(); got != 3 {
		t.Errorf("count %d, want 3", got)
	}
	await(t, s.Arrived(1), "an arrival of the past")
	select {
	case <-s.Arrived(4):
		t.Error("a fourth request arrived")
	default:
	}
	s.Release("g")
	asked.Wait()
}

func TestIDsDifferBetweenStandins(t *testing.T) {
	t.Parallel()
	_, a := ask(t, messagesapi.Start(t), conversation(user("tool:bash true")))
	_, b := ask(t, messagesapi.Start(t), conversation(user("tool:bash true")))
	if a.ID == b.ID || a.Content[0].ID == b.Content[0].ID {
		t.Errorf("same ids: %s %s, %s %s", a.ID, b.ID, a.Content[0].ID, b.Content[0].ID)
	}
}
