package messagesapi_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bareclaw/internal/testkit/messagesapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen at once.
const patience = 20 * time.Second

type (
	object = map[string]any
	list   = []any
)

func user(content any) object      { return object{"role": "user", "content": content} }
func assistant(content any) object { return object{"role": "assistant", "content": content} }
func system(content any) object    { return object{"role": "system", "content": content} }
func text(s string) object         { return object{"type": "text", "text": s} }

func toolUse(id string) object {
	return object{"type": "tool_use", "id": id, "name": "Bash", "input": object{"command": "true"}}
}

func toolResult(id, content string) object {
	return object{"type": "tool_result", "tool_use_id": id, "content": content}
}

func image(mediaType, data string) object {
	return object{"type": "image", "source": object{"type": "base64", "media_type": mediaType, "data": data}}
}

func conversation(messages ...any) object {
	return object{"model": "claude-test", "max_tokens": 100, "messages": messages, "tools": list{object{"name": "Bash"}, object{"name": "Agent"}}}
}

// post sends a body with the headers the API wants. The response is closed with
// the test.
func post(t *testing.T, url string, body any) *http.Response {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return postRaw(t, url, string(data))
}

func postRaw(t *testing.T, url, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "dummy")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// answer is a reply or an error in its JSON form.
type answer struct {
	Type    string
	ID      string
	Content []struct {
		Type, Text, Thinking, ID, Name string
		Input                          json.RawMessage
	}
	StopReason string `json:"stop_reason"`
	Usage      struct {
		In  int `json:"input_tokens"`
		Out int `json:"output_tokens"`
	}
	Error struct{ Type, Message string }
}

func (a answer) text() string {
	var all strings.Builder
	for _, b := range a.Content {
		all.WriteString(b.Text)
	}
	return all.String()
}

// ask sends a conversation without streaming.
func ask(t *testing.T, s *messagesapi.Server, body object) (int, answer) {
	t.Helper()
	return decode(t, post(t, s.URL+"/v1/messages", body))
}

func decode(t *testing.T, resp *http.Response) (int, answer) {
	t.Helper()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatalf("status %d: %v", resp.StatusCode, err)
	}
	return resp.StatusCode, a
}

// reply sends one user text and returns the text of the answer.
func reply(t *testing.T, s *messagesapi.Server, said string) string {
	t.Helper()
	status, a := ask(t, s, conversation(user(said)))
	if status != http.StatusOK {
		t.Fatalf("%q: status %d: %s", said, status, a.Error.Message)
	}
	return a.text()
}

// An event is one server-sent event.
type event struct {
	name string
	data string
}

// events reads server-sent events one by one.
type events struct {
	t     *testing.T
	lines *bufio.Reader
}

func stream(t *testing.T, s *messagesapi.Server, said string) events {
	t.Helper()
	body := conversation(user(said))
	body["stream"] = true
	resp := post(t, s.URL+"/v1/messages?beta=true", body)
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Fatalf("content type = %q", got)
	}
	return events{t: t, lines: bufio.NewReader(resp.Body)}
}

// next returns the next event; err is io.EOF after the last.
func (e events) next() (event, error) {
	e.t.Helper()
	var ev event
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			return event{}, err
		}
		switch {
		case line == "\n":
			var typed struct{ Type string }
			if err := json.Unmarshal([]byte(ev.data), &typed); err != nil || typed.Type != ev.name {
				e.t.Fatalf("event %q has data %q (%v)", ev.name, ev.data, err)
			}
			return ev, nil
		case strings.HasPrefix(line, "event: "):
			ev.name = strings.TrimSpace(line[len("event: "):])
		case strings.HasPrefix(line, "data: "):
			ev.data = strings.TrimSpace(line[len("data: "):])
		default:
			e.t.Fatalf("line %q", line)
		}
	}
}

// all reads to the end of the stream.
func (e events) all() ([]event, error) {
	e.t.Helper()
	var seen []event
	for {
		ev, err := e.next()
		if errors.Is(err, io.EOF) {
			return seen, nil
		}
		if err != nil {
			return seen, err
		}
		seen = append(seen, ev)
	}
}

// names summarises events: a delta is named by its type and payload.
func names(t *testing.T, evs []event) []string {
	t.Helper()
	var out []string
	for _, ev := range evs {
		var d struct {
			Delta struct {
				Type, Text, Thinking, Signature string
				JSON                            string `json:"partial_json"`
			}
			Block struct{ Type string } `json:"content_block"`
		}
		if err := json.Unmarshal([]byte(ev.data), &d); err != nil {
			t.Fatal(err)
		}
		switch ev.name {
		case "content_block_start":
			out = append(out, "start "+d.Block.Type)
		case "content_block_delta":
			out = append(out, strings.TrimSpace(d.Delta.Type+" "+d.Delta.Text+d.Delta.Thinking+d.Delta.JSON))
		default:
			out = append(out, ev.name)
		}
	}
	return out
}

// await fails the test if ch is not closed soon.
func await(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("%s did not happen", what)
	}
}
