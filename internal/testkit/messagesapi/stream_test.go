package messagesapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/messagesapi"
)

func TestStreamOrder(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	for said, want := range map[string][]string{
		"echo hi": {"message_start", "ping", "start text", "text_delta hi", "content_block_stop", "message_delta", "message_stop"},
		"think on": {"message_start", "ping", "start thinking", "thinking_delta thinking about it", "signature_delta", "content_block_stop",
			"start text", "text_delta on", "content_block_stop", "message_delta", "message_stop"},
		`par:bash 2 {"a":1}`: {"message_start", "ping", "start tool_use", `input_json_delta {"a`, `input_json_delta ":1}`, "content_block_stop",
			"start tool_use", `input_json_delta {"a`, `input_json_delta ":1}`, "content_block_stop", "message_delta", "message_stop"},
		"slow 0.5 end": {"message_start", "ping", "start text", "text_delta w0", "text_delta w1", "text_delta end", "content_block_stop",
			"message_delta", "message_stop"},
		"streamerror overloaded_error": {"message_start", "ping", "start text", "text_delta half a sen", "error"},
	} {
		evs, err := stream(t, s, said).all()
		if err != nil {
			t.Errorf("%s: %v", said, err)
		}
		if got := names(t, evs); !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", said, got, want)
		}
	}
}

func TestStreamFields(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	evs, err := stream(t, s, "usage 5 6 text").all()
	if err != nil {
		t.Fatal(err)
	}
	var start struct {
		Message struct {
			ID, Role, Model string
			Usage           struct {
				In int `json:"input_tokens"`
			}
		}
	}
	if err := json.Unmarshal([]byte(evs[0].data), &start); err != nil {
		t.Fatal(err)
	}
	if m := start.Message; !strings.HasPrefix(m.ID, "msg_") || m.Role != "assistant" || m.Model != "claude-test" || m.Usage.In != 5 {
		t.Errorf("message_start: %s", evs[0].data)
	}
	if last := evs[len(evs)-2].data; !strings.Contains(last, `"stop_reason":"end_turn"`) || !strings.Contains(last, `"output_tokens":6`) {
		t.Errorf("message_delta: %s", last)
	}
}

func TestCutDropsTheConnection(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	evs, err := stream(t, s, "cut").all()
	if err == nil {
		t.Error("the stream ended properly, want a broken connection")
	}
	if got := names(t, evs); !slices.Equal(got, []string{"message_start", "ping", "start text", "text_delta half a sen"}) {
		t.Errorf("events before the cut: %q", got)
	}
}

func TestGateInTheMiddle(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	evs := stream(t, s, "gate door one two")
	for {
		ev, err := evs.next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(ev.data, `"one "`) {
			break
		}
	}
	await(t, s.Held("door"), "the hold")
	s.Release("door")
	rest, err := evs.all()
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, rest); got[0] != "text_delta two" || got[len(got)-1] != "message_stop" {
		t.Errorf("after the release: %q", got)
	}
}

func TestGateBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	got := make(chan string)
	go func() { got <- reply(t, s, "gate door") }()
	await(t, s.Held("door"), "the hold")
	select {
	case early := <-got:
		t.Fatalf("reply %q before the release", early)
	default:
	}
	s.Release("door")
	if text := <-got; text != "released door" {
		t.Errorf("reply %q", text)
	}
	if again := reply(t, s, "gate door more"); again != "more" {
		t.Errorf("an open gate holds: %q", again)
	}
}

func TestHangEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	evs := stream(t, s, "hang")
	if ev, err := evs.next(); err != nil || ev.name != "message_start" {
		t.Fatalf("first event %q, %v", ev.name, err)
	}
	s.Close()
	if _, err := evs.all(); err == nil {
		t.Error("the stream ended properly, want a broken connection")
	}
}

func TestHangPings(t *testing.T) {
	t.Parallel()
	s, err := messagesapi.Listen(t.Context(), messagesapi.Options{PingInterval: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	evs := stream(t, s, "hang")
	for i, want := range []string{"message_start", "ping", "ping", "ping"} {
		if ev, err := evs.next(); err != nil || ev.name != want {
			t.Fatalf("event %d: %q, %v, want %s", i, ev.name, err, want)
		}
	}
}
