package claude

import (
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

func TestDecodeTolerates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, line, typ, subtype, session string }{
		{"unknown type", `{"type":"from_the_future","x":[1,{"y":null}]}`, "from_the_future", "", ""},
		{"no type", `{}`, "", "", ""},
		{"odd types", `{"type":7,"subtype":{},"session_id":[]}`, "", "", ""},
		{"escaped key and value", `{"\u0074ype":"\u0072esult","session_id":"a\"b"}`, "result", "", `a"b`},
		{"last duplicate wins", `{"type":"user","type":"system","subtype":"init"}`, "system", "init", ""},
		{"space around", " \t{ \"type\" : \"user\" } ", "user", "", ""},
	} {
		e, err := Decode([]byte(tc.line))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if e.Type != tc.typ || e.Subtype != tc.subtype || e.SessionID() != tc.session || string(e.Raw) != tc.line {
			t.Errorf("%s: got %+v", tc.name, e)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000)
	for _, line := range []string{"", "null", "[]", `"x"`, "7", "Error: no", `{"type":"user"`, `{"a":}`, `{"a":1,}`, `{"a":01}`,
		`{"a":1.}`, `{"a":1e}`, `{"a":"` + "\x01" + `"}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":tru}`, `{}{}`, `{a:1}`, `{"a":[1 2]}`, `{"a":` + deep + `}`} {
		if e, err := Decode([]byte(line)); err == nil {
			t.Errorf("Decode(%.40q) = %+v, want an error", line, e)
		}
	}
}

func TestAccessorsCheckTheType(t *testing.T) {
	t.Parallel()
	e, err := Decode([]byte(`{"type":"keep_alive","command_uuid":"u","state":"completed","request_id":"r","request":{"subtype":"can_use_tool"},"response":{"request_id":"r"},"tasks":[1],"event":{"type":"content_block_start","content_block":{"type":"tool_use"}}}`))
	check.OK(t, err)
	_, _, asked := e.ControlRequest()
	response, refused := e.ControlResponse()
	_, tasks := e.BackgroundTasks()
	if turn, phase := e.Lifecycle(); turn != "" || phase != "" || asked || response+refused+e.CancelRequest() != "" || tasks || e.BeginsTool() || e.PermissionRequest() != nil {
		t.Error("a method read an event of another type")
	}
	if got := e.Translate(); got.Kind != core.Said {
		t.Errorf("Translate() = %+v", got)
	}
}

func TestControlRequestNeedsID(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"type":"control_request"}`, `{"type":"control_request","request_id":"a"}`, `{"type":"control_request","request":{}}`} {
		e, err := Decode([]byte(line))
		check.OK(t, err)
		if _, _, ok := e.ControlRequest(); ok {
			t.Errorf("%s: read as a request", line)
		}
	}
}

// claude runs a tool before its message has ended, so the first sign of it is
// a stream_event, ahead of the assistant event and of the tool's result.
func TestBeginsToolComesFirst(t *testing.T) {
	t.Parallel()
	var order []string
	for _, r := range readRecording(t, "testdata/stream/tool-before-message-end.ndjson") {
		e, err := Decode(r.Line)
		check.OK(t, err)
		switch {
		case e.BeginsTool():
			order = append(order, "begins:"+e.Type)
		case e.Type == TypeUser:
			if len(e.ToolsEnded()) > 0 {
				order = append(order, "result")
			}
		case e.Type == TypeStreamEvent && strings.Contains(string(e.Raw), `"message_stop"`):
			order = append(order, "message_stop")
		}
	}
	got := strings.Join(order, " ")
	if want := "begins:stream_event begins:assistant result message_stop message_stop"; !strings.HasPrefix(got, want) {
		t.Errorf("order = %s, want %s …", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"type":"result","subtype":"success","result":"a\u00e9\ud83d\ude00\ud800 \n","user_message_uuids":["x",1]}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}`,
		`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"hi"}},"parent_tool_use_id":null}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","input":{}}}`,
		`{"type":"control_response","response":{"subtype":"error","request_id":"r"}}`,
		`{"a":[1.5e-3,-0,true,false,null,"\\\"\/\b\f"],"":{}}`, `{"type":"system","subtype":"api_retry","error_status":null}`, `{"`, `{"a":1}x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Decode(line)
		var want map[string]json.RawMessage
		stdErr := json.Unmarshal(line, &want)
		if (err == nil) != (stdErr == nil && want != nil) {
			t.Fatalf("Decode(%q): %v, encoding/json: %v", line, err, stdErr)
		}
		if err != nil {
			return
		}
		if e.Type != stringOf(want["type"]) || e.Subtype != stringOf(want["subtype"]) || e.SessionID() != stringOf(want["session_id"]) {
			t.Fatalf("Decode(%q) = %+v", line, e)
		}
		if string(e.Raw) != string(line) {
			t.Fatalf("Raw of %q = %q", line, e.Raw)
		}
		e.ControlResponse()
		e.ToolsEnded()
		Show(line)
		r := e.Translate().Result
		switch {
		case (r != nil) != (e.Type == TypeResult):
			t.Fatalf("%q as a result is %+v", line, r)
		case r == nil:
		case r.Text != stringOf(want["result"]) && r.Text != r.Error:
			t.Fatalf("result text of %q = %q", line, r.Text)
		case (r.Code == "") != !r.IsError, (r.Error == "") != !r.IsError:
			t.Fatalf("failure of %q = %q, %q", line, r.Code, r.Error)
		}
	})
}

// stringOf decodes a JSON string as encoding/json does, "" for anything else.
func stringOf(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
