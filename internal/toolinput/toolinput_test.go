package toolinput

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	in := Read(json.RawMessage(`{"command":"ls\n","Command":"rm","timeout":600000,"description":7,"a b":"x\ny\u200bz","env":{"A":[1,true]},"":null}`))
	if text, ok := in.Take("command"); !ok || text != "ls\n" {
		t.Errorf("command is %q, %v", text, ok)
	}
	for _, name := range []string{"command", "COMMAND", "description", "other"} {
		if text, ok := in.Take(name); ok {
			t.Errorf("%s is %q", name, text)
		}
	}
	want := []string{
		`Command: "rm"`, "timeout: 600000", "description: 7", `"a b": "x\ny\u{200B}z"`, `env: {"A": [1, true]}`, `"": null`,
	}
	var got []string
	for _, m := range in.Rest() {
		got = append(got, m.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the rest is %q, want %q", got, want)
	}
}

// TestWhole holds that an input that cannot be shown member by member is shown as it came.
func TestWhole(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``:                                     "{}",
		`{}`:                                   "{}",
		`[1,"a"]`:                              "[\n  1,\n  \"a\"\n]",
		`{"command":"ls","command":"rm"}`:      "{\n  \"command\": \"ls\",\n  \"command\": \"rm\"\n}",
		`{"command":"ls","c\u006fmmand":1}`:    "{\n  \"command\": \"ls\",\n  \"command\": 1\n}",
		`{"command":"\u0072m` + "\u200b" + `"`: `{"command":"\u0072m\u{200B}"`,
		`{"command":"ls"} {"command":"rm"}`:    `{"command":"ls"} {"command":"rm"}`,
		"no JSON \x1b":                         `no JSON \u{001B}`,
	} {
		in := Read(json.RawMessage(raw))
		if got := in.JSON(); got != want {
			t.Errorf("%s is shown as %q, want %q", raw, got, want)
		}
		if len(in.Rest()) > 0 {
			t.Errorf("%s has the members %v", raw, in.Rest())
		}
	}
	if got, want := Read(json.RawMessage(`{"a":"\u003cb\u003e \u0063url\u200b"}`)).JSON(), "{\n  \"a\": \"<b> curl\\u{200B}\"\n}"; got != want {
		t.Errorf("shown is %q, want %q", got, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"command":"ls\u200b","timeout":1,"x":{"a":"\ud800"}}`))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := Read(raw)
		members := len(in.Rest())
		_, taken := in.Take("command")
		if left := len(in.Rest()); taken && left != members-1 || !taken && left != members {
			t.Errorf("%q has %d members, and then %d", raw, members, left)
		}
		for _, m := range in.Rest() {
			if line := m.String(); strings.ContainsAny(line, "\n\t\u200b\x1b") || !utf8.ValidString(line) {
				t.Errorf("%q shows %q", raw, line)
			}
		}
		if text := in.JSON(); strings.ContainsAny(text, "\u200b\x1b") || !utf8.ValidString(text) {
			t.Errorf("%q shows %q", raw, text)
		}
	})
}
