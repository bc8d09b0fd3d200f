package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzDirective checks that a directive found is one the text has, on a line
// of its own.
func FuzzDirective(f *testing.F) {
	f.Add("[channel: x]\nslow 10 text")
	f.Add("once file tool 1 ask x\napiretry 1 401")
	f.Fuzz(func(t *testing.T, message string) {
		d := findDirective(withoutPrefix(message))
		if d.name != "" && !strings.Contains(message, d.name) {
			t.Errorf("%q: found %+v", message, d)
		}
		if d.n < -1 || d.n2 < -1 {
			t.Errorf("%q: negative number in %+v", message, d)
		}
	})
}

// FuzzInstant checks that whatever valid message comes in, what goes out is
// valid JSON that names its uuid.
func FuzzInstant(f *testing.F) {
	f.Add(msgID(1), `{"type":"control_request"}`)
	f.Add("uuid", `"uuid":"x"`)
	f.Fuzz(func(t *testing.T, id, text string) {
		line, err := json.Marshal(map[string]any{"message": chat{"user", text}, "type": "user", "uuid": id})
		if err != nil {
			t.Skip()
		}
		var sent event
		if err := json.Unmarshal(line, &sent); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(sent.UUID, `"\`) {
			t.Skip() // no uuid is like that
		}
		answer, _ := newAnswer(sid).to(line)
		for out := range bytes.Lines(answer) {
			var e event
			if err := json.Unmarshal(out, &e); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			if e.Type == "result" && e.MessageUUIDs[0] != sent.UUID {
				t.Errorf("result names %q, want %q", e.MessageUUIDs[0], sent.UUID)
			}
		}
	})
}

// FuzzRecall checks that no line of a transcript breaks its reader.
func FuzzRecall(f *testing.F) {
	f.Add([]byte(`{"type":"user","uuid":"u","promptSource":"sdk","message":{"role":"user","content":"x"}}`))
	f.Add([]byte(`{"type":"assistant","uuid":"a","message":{"content":[{"type":"tool_use","id":"t"}]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		tr := &transcript{past: map[string]bool{}}
		tr.recall(line)
		if tr.tail.prompt != "" && !tr.canRun(tr.tail.prompt) {
			t.Errorf("a prompt without an answer cannot run again: %s", line)
		}
	})
}
