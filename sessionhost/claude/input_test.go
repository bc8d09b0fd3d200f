package claude

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

const someUUID = "aaaaaaaa-0000-4000-8000-00000000000a"

func TestUserLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ content, want string }{
		{`"hello"`, `"hello"`},
		{" [\n {\"type\":\"text\",\r\n\"text\":\"<a> & \\n\"} ]\n", `[{"type":"text","text":"<a> & \n"}]`},
		{"\"bad \xff byte\"", "\"bad \uFFFD byte\""},
	} {
		got, err := UserLine(someUUID, json.RawMessage(tc.content))
		if err != nil {
			t.Errorf("%q: %v", tc.content, err)
			continue
		}
		want := `{"type":"user","message":{"role":"user","content":` + tc.want + `},"uuid":"` + someUUID + `","parent_tool_use_id":null}` + "\n"
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestUserLineRefuses(t *testing.T) {
	t.Parallel()
	for _, content := range []string{``, `{}`, `7`, `null`, `"a`, `"a" "b"`, `[1,]`} {
		if line, err := UserLine(someUUID, json.RawMessage(content)); err == nil {
			t.Errorf("content %q gave %s", content, line)
		}
	}
	for _, uuid := range []string{"", "x", `aaaaaaaa-0000-4000-8000-00000000000"`, someUUID + "0"} {
		if line, err := UserLine(uuid, json.RawMessage(`"a"`)); err == nil {
			t.Errorf("uuid %q gave %s", uuid, line)
		}
	}
}

func TestControlLines(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line []byte
		want string
	}{
		{InitializeLine("r", false), `{"type":"control_request","request_id":"r","request":{"subtype":"initialize"}}`},
		{InterruptLine("r"), `{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}`},
		{AllowLine("r", nil, nil), `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow"}}}`},
		{AllowLine("r", json.RawMessage("{\n}"), json.RawMessage(`[]`)), `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{},"updatedPermissions":[]}}}`},
		{AllowLine("r", json.RawMessage(`{`), nil), `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"deny","message":"The approval was malformed."}}}`},
		{DenyLine("r", "no <way>\n"), `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"deny","message":"no <way>\n"}}}`},
		{ErrorLine("r", "unsupported"), `{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"unsupported"}}`},
	} {
		if string(tc.line) != tc.want+"\n" {
			t.Errorf("got  %swant %s", tc.line, tc.want)
		}
	}
}

func FuzzUserLine(f *testing.F) {
	for _, s := range []string{`"a"`, "[\n]", `[{"type":"image"}]`, "\"\xff\"", `{}`, "\"\u2028\\ud800\"", "[1,\r2]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		before := bytes.Clone(content)
		line, err := UserLine(someUUID, content)
		if !bytes.Equal(before, content) {
			t.Fatal("the argument was changed")
		}
		var want any
		stdErr := json.Unmarshal(content, &want)
		_, isString := want.(string)
		_, isArray := want.([]any)
		if (err == nil) != (stdErr == nil && (isString || isArray)) {
			t.Fatalf("UserLine(%q): %v, encoding/json: %v", content, err, stdErr)
		}
		if err != nil {
			return
		}
		if bytes.IndexByte(line, '\n') != len(line)-1 || bytes.IndexByte(line, '\r') >= 0 || !utf8.Valid(line) {
			t.Fatalf("not one clean line: %q", line)
		}
		var got struct {
			UUID    string
			Message struct{ Content any }
		}
		if err := json.Unmarshal(line, &got); err != nil || got.UUID != someUUID {
			t.Fatalf("%q: %v", line, err)
		}
		if utf8.Valid(content) && !reflect.DeepEqual(got.Message.Content, want) {
			t.Fatalf("content %q became %q", content, line)
		}
		if again, _ := UserLine(someUUID, content); !bytes.Equal(again, line) {
			t.Fatal("not deterministic")
		}
	})
}
