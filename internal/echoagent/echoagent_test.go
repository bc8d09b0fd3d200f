package echoagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bareclaw/internal/exitcode"
)

const (
	sessionID = "11111111-1111-4111-8111-111111111111"
	messageID = "22222222-2222-4222-8222-222222222222"
)

// output is what the tests look at in any line.
type output struct {
	Type         string   `json:"type"`
	Subtype      string   `json:"subtype"`
	State        string   `json:"state"`
	Command      string   `json:"command_uuid"`
	Session      string   `json:"session_id"`
	Model        string   `json:"model"`
	Agent        string   `json:"agent"`
	Capabilities []string `json:"capabilities"`
	IsError      *bool    `json:"is_error"`
	Result       string   `json:"result"`
	MessageUUIDs []string `json:"user_message_uuids"`
	Response     struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Code      string          `json:"error_code"`
		Response  json.RawMessage `json:"response"`
	} `json:"response"`
	Message struct {
		Content []struct{ Text string } `json:"content"`
	} `json:"message"`
}

// converse runs the agent over the given input and returns its events.
func converse(t *testing.T, args []string, input string) (events []output, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Run(args, strings.NewReader(input), &out, &errs); code != 0 {
		t.Fatalf("Run = %d, want 0; stderr: %s", code, errs.String())
	}
	for line := range strings.Lines(out.String()) {
		var e output
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("output line %q: %v", line, err)
		}
		events = append(events, e)
	}
	return events, errs.String()
}

func userLine(id, text string) string {
	content, _ := json.Marshal(text)
	return `{"type":"user","message":{"role":"user","content":` + string(content) + `},"uuid":"` + id + `"}` + "\n"
}

func TestTurn(t *testing.T) {
	t.Parallel()
	args := []string{"-p", "--input-format", "stream-json", "--allowedTools", "Bash", "--session-id", sessionID}
	events, stderr := converse(t, args, userLine(messageID, "[channel: http, adapter: http]\nhello <there>"))
	if stderr != "" {
		t.Errorf("stderr = %q, want nothing", stderr)
	}
	var shape []string
	for _, e := range events {
		shape = append(shape, strings.TrimRight(e.Type+" "+e.Subtype+e.State, " "))
		if e.Session != sessionID {
			t.Errorf("%s: session_id = %q, want %q", e.Type, e.Session, sessionID)
		}
	}
	want := []string{"command_lifecycle queued", "command_lifecycle started", "system init", "assistant", "result success", "command_lifecycle completed"}
	if !slices.Equal(shape, want) {
		t.Fatalf("events = %q, want %q", shape, want)
	}
	if e := events[2]; e.Model != Model || e.Agent != "echo" || !slices.Contains(e.Capabilities, lifecycleCapability) {
		t.Errorf("init = %+v, want the echo model, agent and lifecycle capability", e)
	}
	result := events[4]
	if result.IsError == nil || *result.IsError {
		t.Errorf("is_error = %v, want false", result.IsError)
	}
	if !slices.Equal(result.MessageUUIDs, []string{messageID}) {
		t.Errorf("user_message_uuids = %q, want the message's", result.MessageUUIDs)
	}
	if got := events[3].Message.Content[0].Text; got != result.Result {
		t.Errorf("assistant text %q differs from result %q", got, result.Result)
	}
	for _, part := range []string{"not Claude", "npm install -g @anthropic-ai/claude-code", "BARECLAW_AGENT=claude", "> hello <there>"} {
		if !strings.Contains(result.Result, part) {
			t.Errorf("result does not say %q:\n%s", part, result.Result)
		}
	}
	if strings.Contains(result.Result, "[channel:") {
		t.Errorf("result quotes the prefix line:\n%s", result.Result)
	}
}

func TestMessageWithoutUUID(t *testing.T) {
	t.Parallel()
	events, _ := converse(t, nil, `{"type":"user","message":{"role":"user","content":[{"type":"image"},{"type":"text","text":"look"}]}}`)
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	if want := []string{"system", "assistant", "result"}; !slices.Equal(types, want) {
		t.Fatalf("events = %q, want %q", types, want)
	}
	if !strings.HasSuffix(events[2].Result, "> look") {
		t.Errorf("result = %q, want it to quote the text block", events[2].Result)
	}
}

func TestSessionID(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--session-id", sessionID}, {"--resume", sessionID}} {
		if got := sessionOf(args); got != sessionID {
			t.Errorf("sessionOf(%q) = %q, want %q", args, got, sessionID)
		}
	}
	if a, b := sessionOf(nil), sessionOf([]string{"--resume"}); a == b || len(a) != len(sessionID) {
		t.Errorf("sessions without an id = %q and %q, want two new ids", a, b)
	}
}

func TestControlRequests(t *testing.T) {
	t.Parallel()
	input := `{"type":"control_request","request_id":"a","request":{"subtype":"initialize"}}
{"type":"control_request","request_id":"b","request":{"subtype":"interrupt"}}
{"type":"control_request","request_id":"c","request":{"subtype":"fly"}}
{"type":"control_response","response":{}}
{"type":"keep_alive"}
`
	events, stderr := converse(t, nil, input)
	if stderr != "" {
		t.Errorf("stderr = %q, want nothing", stderr)
	}
	if len(events) != 3 {
		t.Fatalf("%d events, want 3", len(events))
	}
	for i, want := range []struct{ id, subtype, code string }{{"a", "success", ""}, {"b", "success", ""}, {"c", "error", "unsupported_request"}} {
		got := events[i].Response
		if got.RequestID != want.id || got.Subtype != want.subtype || got.Code != want.code {
			t.Errorf("response %d = %+v, want %+v", i, got, want)
		}
	}
	if got := string(events[1].Response.Response); got != `{"still_queued":[]}` {
		t.Errorf("interrupt's response = %s", got)
	}
}

func TestBadLinesAreSkipped(t *testing.T) {
	t.Parallel()
	input := "not JSON\n\n42\n{\"type\":\"user\"}\n{\"type\":\"new\"}\n" + strings.TrimSuffix(userLine(messageID, "hi"), "\n")
	events, stderr := converse(t, nil, input)
	if len(events) != 6 || events[4].Type != "result" {
		t.Errorf("events = %+v, want one whole turn", events)
	}
	if notes := strings.Count(stderr, "echo agent: "); notes != 4 {
		t.Errorf("%d notes on stderr, want 4:\n%s", notes, stderr)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	events, _ := converse(t, nil, userLine(messageID, strings.Repeat("ö", 100_000)))
	if len(events) != 6 {
		t.Fatalf("%d events, want one turn", len(events))
	}
	_, quote, _ := strings.Cut(events[4].Result, "> ")
	if n := utf8.RuneCountInString(quote); n != quotedRunes || !strings.HasSuffix(quote, "…") {
		t.Errorf("quote has %d characters, want %d with an ellipsis", n, quotedRunes)
	}
}

type brokenPipe struct{}

var errBroken = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }
func (brokenPipe) Read([]byte) (int, error)  { return 0, errBroken }

func TestBrokenPipes(t *testing.T) {
	t.Parallel()
	if code := Run(nil, strings.NewReader(userLine(messageID, "x")), brokenPipe{}, io.Discard); code != exitcode.Failed {
		t.Errorf("with a broken stdout Run = %d, want %d", code, exitcode.Failed)
	}
	if code := Run(nil, brokenPipe{}, io.Discard, io.Discard); code != exitcode.Failed {
		t.Errorf("with a broken stdin Run = %d, want %d", code, exitcode.Failed)
	}
}

func FuzzRun(f *testing.F) {
	f.Add([]byte(userLine(messageID, "hello")))
	f.Add([]byte(`{"type":"control_request","request_id":1}` + "\n" + `{"type":"user","message":{"content":[{}]}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		var out bytes.Buffer
		if code := Run(nil, bytes.NewReader(input), &out, io.Discard); code != exitcode.OK {
			t.Fatalf("Run = %d", code)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("output is not JSON: %q", line)
			}
		}
	})
}
