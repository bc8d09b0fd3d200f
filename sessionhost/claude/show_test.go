package claude

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bareclaw/core"
)

// In every recording the pieces of a text are together its whole, a call is told
// with its input after it was announced, and nothing ends that was not told.
func TestShowRecordings(t *testing.T) {
	t.Parallel()
	texts, calls := 0, 0
	for _, path := range recordings(t, "testdata/stream/*.ndjson") {
		pieces := map[string]string{} // by agent: of the text that is being streamed
		input := map[string]bool{}    // by call
		ids := map[string]bool{}
		for _, r := range readRecording(t, path) {
			if r.Dir != "out" {
				continue
			}
			for _, s := range Show(r.Line) {
				name := fmt.Sprintf("%s: %+v", filepath.Base(path), s)
				switch s.Kind {
				case core.DisplayTextBegin:
					pieces[s.Parent] = ""
				case core.DisplayTextDelta:
					pieces[s.Parent] += s.Text
				case core.DisplayText:
					if whole, streamed := pieces[s.Parent]; streamed && whole != s.Text {
						t.Errorf("%s: its pieces are %q", name, whole)
					}
					if s.ID == "" || ids[s.ID] {
						t.Errorf("%s: its id is that of another text, or none", name)
					}
					ids[s.ID] = true
					delete(pieces, s.Parent)
					texts++
				case core.DisplayTool:
					if s.ID == "" || s.Tool == "" || input[s.ID] {
						t.Errorf("%s: without id or name, or told again", name)
					}
					input[s.ID] = s.Input != nil
				case core.DisplayToolEnd:
					if !input[s.ID] {
						t.Errorf("%s: ended before it had an input", name)
					}
					calls++
				default:
				}
			}
		}
	}
	if texts < 30 || calls < 10 {
		t.Errorf("the recordings show %d texts and %d ends of calls", texts, calls)
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	stream := func(event string) string {
		return `{"type":"stream_event","event":` + event + `,"parent_tool_use_id":null,"uuid":"u","api_message_id":"m"}`
	}
	for _, tc := range []struct {
		name, line string
		want       []core.DisplayEvent
	}{
		{"text begins", stream(`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`), []core.DisplayEvent{{Kind: core.DisplayTextBegin, Message: "m", Index: 2}}},
		{"text", stream(`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"a\nb"}}`), []core.DisplayEvent{{Kind: core.DisplayTextDelta, Message: "m", Index: 2, Text: "a\nb"}}},
		{"thinking", stream(`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking"}}`), []core.DisplayEvent{{Kind: core.DisplayThinking, Message: "m"}}},
		{"thinking goes on", stream(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x"}}`), nil},
		{"tool announced", stream(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}`), []core.DisplayEvent{{Kind: core.DisplayTool, Message: "m", Index: 1, ID: "t", Tool: "Bash"}}},
		{"input", stream(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"text_delta\""}}`), nil},
		{"stop", stream(`{"type":"content_block_stop","index":1}`), nil},
		{"subagent streams", `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}},"parent_tool_use_id":"p"}`,
			[]core.DisplayEvent{{Kind: core.DisplayTextDelta, Text: "x", Parent: "p"}}},
		{"several blocks", `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/f"}},{"type":"text","text":"b"},{"type":"new"}]},"uuid":"u"}`,
			[]core.DisplayEvent{{Kind: core.DisplayText, ID: "u", Message: "m", Text: "a"}, {Kind: core.DisplayTool, ID: "t", Message: "m", Tool: "Read", Target: "/f", Input: json.RawMessage(`{"file_path":"/f"}`)}, {Kind: core.DisplayText, ID: "u/2", Message: "m", Text: "b"}}},
		{"API error", `{"type":"assistant","message":{"content":[{"type":"text","text":"API Error: 529"}]},"uuid":"u","is_api_error_message":true}`, nil},
		{"two results", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"tool_result","tool_use_id":"b","is_error":true}]},"parent_tool_use_id":"p"}`,
			[]core.DisplayEvent{{Kind: core.DisplayToolEnd, ID: "a", Parent: "p"}, {Kind: core.DisplayToolEnd, ID: "b", IsError: true, Parent: "p"}}},
		{"a person's message", `{"type":"user","message":{"content":"what is a tool_result\"?"},"isReplay":true}`, nil},
		{"compacting", `{"type":"system","subtype":"status","status":"compacting"}`, []core.DisplayEvent{{Kind: core.DisplayCompacting}}},
		{"compacted", `{"type":"system","subtype":"status","status":null,"compact_result":"success"}`, []core.DisplayEvent{{Kind: core.DisplayCompacted}}},
		{"compact boundary", `{"type":"system","subtype":"compact_boundary"}`, []core.DisplayEvent{{Kind: core.DisplayCompacted}}},
		{"other status", `{"type":"system","subtype":"status","status":"requesting"}`, nil},
		{"retry", `{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error":"rate_limit"}`, []core.DisplayEvent{{Kind: core.DisplayRetry, Text: "rate limit, attempt 2 of 10"}}},
		{"odd retry", `{"type":"system","subtype":"api_retry","attempt":"two"}`, nil},
		{"tasks", `{"type":"system","subtype":"background_tasks_changed","tasks":[{},{}]}`, []core.DisplayEvent{{Kind: core.DisplayTasks, Tasks: 2}}},
		{"result", `{"type":"result","result":"text"}`, nil},
		{"no JSON", `{"type":"assistant"`, nil},
		{"odd shapes", `{"type":"assistant","message":7}`, nil},
		{"odd content", `{"type":"assistant","message":{"content":[1,null,{"type":7}]}}`, nil},
	} {
		if got := Show(json.RawMessage(tc.line)); len(got)+len(tc.want) > 0 && !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// A text whose line has no uuid has an id all the same, and the same each time.
func TestShowWithoutUUID(t *testing.T) {
	t.Parallel()
	line := `{"type":"assistant","message":{"id":"m","content":"hello %d"}}`
	a, again, b := Show([]byte(fmt.Sprintf(line, 1))), Show([]byte(fmt.Sprintf(line, 1))), Show([]byte(fmt.Sprintf(line, 2)))
	if len(a) != 1 || a[0].ID == "" || a[0].ID != again[0].ID || a[0].ID == b[0].ID || a[0].Text != "hello 1" {
		t.Errorf("%+v, %+v, %+v", a, again, b)
	}
}

func FuzzShow(f *testing.F) {
	for _, r := range readRecording(f, "testdata/stream/tool-before-message-end.ndjson") {
		f.Add([]byte(r.Line))
	}
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"tool_result"},{"type":"web_search_tool_result","tool_use_id":1}]}}`))
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_start","index":-1e300,"content_block":null}}`))
	f.Add([]byte(`{"type":"system","subtype":"background_tasks_changed","tasks":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		before := slices.Clone(line)
		got := Show(line)
		if len(got) > 0 && !json.Valid(line) {
			t.Fatalf("%q is not a line, but shows %+v", line, got)
		}
		for _, s := range got {
			if s.Kind == "" || strings.ToValidUTF8(s.Text+s.Target+s.ID+s.Tool, "") != s.Text+s.Target+s.ID+s.Tool {
				t.Fatalf("%q shows %+v", line, s)
			}
			if s.Kind == core.DisplayText && s.ID == "" {
				t.Fatalf("%q shows a text without id", line)
			}
		}
		if !reflect.DeepEqual(got, Show(before)) {
			t.Fatalf("%q shows something else when it comes again", line)
		}
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"type":"control_response","response":{"subtype":"success","request_id":"i1","response":{"pid":1,"claude_code_version":"2.1.329"}}}`: "2.1.329",
		`{"type":"system","subtype":"init","claude_code_version":"2.1.332-dev.3+x"}`:                                                          "2.1.332-dev.3+x",
		`{"type":"system","subtype":"init","claude_code_version":"2.1\u001b[2J"}`:                                                             "",
		`{"type":"system","subtype":"init"}`: "",
		`{"type":"control_response","response":{"subtype":"error","request_id":"i1","error":"no"}}`: "",
		`{"type":"assistant","claude_code_version":"2.1.329"}`:                                      "",
	} {
		e, err := Decode([]byte(line))
		if got := e.Version(); err != nil || got != want {
			t.Errorf("%s: version %q, want %q", line, got, want)
		}
	}
}
