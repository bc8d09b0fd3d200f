package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/core"
)

// TestWhole holds that a question shows all of what is allowed, and every character of it.
func TestWhole(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ tool, input, want string }{
		"members": {"Bash", `{"command":"ls\n-l","description":"List","dangerouslyDisableSandbox":true,"Command":"x"}`,
			"Allow Bash?\n  ls\n  -l\n  description: List\n  dangerouslyDisableSandbox: true\n  Command: x"},
		"hidden characters": {"Bash", `{"command":"curl a\u200bb\u202e \udb40\udc69"}`, "Allow Bash?\n" + `  curl a\u{200B}b\u{202E} \u{E0069}`},
		"readable":          {"Bash", `{"command":"touch 'é' 'نص'"}`, "Allow Bash?\n  touch 'é' 'نص'"},
		"white space":       {"Bash", `{"command":"true` + strings.Repeat(" ", 99) + `x` + strings.Repeat(`\n`, 51) + `y"}`, "Allow Bash?\n  true ⎵×99 x\n  ⏎×50\n  y"},
		"a long text":       {"Write", `{"content":"a\nfile_path: /safe\n","file_path":"/x\u2060","n":{"a":1}}`, "Allow Write?\n  content:\n    a\n    file_path: /safe\n" + `  file_path: /x\u{2060}` + "\n" + `  n: {"a": 1}`},
		"a member twice":    {"Bash", `{"command":"ls","command":"rm"}`, "Allow Bash?\n  {\n    \"command\": \"ls\",\n    \"command\": \"rm\"\n  }"},
		"no members":        {"X", `{}`, "Allow X?\n  {}"},
		"a tool's name":     {"a\nb\u200b", `{}`, `Allow a\u{000A}b\u{200B}?` + "\n  {}"},
		"a plan":            {core.ToolExitPlan, `{"plan":"Do it\u200b","allowedPrompts":[{"tool":"Bash","prompt":"rm"}]}`, `Do it\u{200B}` + "\n" + `allowedPrompts: [{"tool": "Bash", "prompt": "rm"}]` + "\n\nCarry out this plan?"},
		"a question": {core.ToolAskUser, `{"questions":[{"question":"Which?","options":[{"label":"a\u200b","description":"b"},{"label":"c"}]}]}`,
			"Which?\n" + `[1] a\u{200B}: b` + "\n[2] c"},
		"a preview": {core.ToolAskUser, `{"questions":[{"question":"Which?","options":[{"label":"a","preview":"x\n[2] y\u200b"},{"label":"b"}]}]}`,
			"Which?\n[1] a\n  x\n" + `  [2] y\u{200B}` + "\n[2] b"},
	} {
		if got := Whole(core.Approval{Tool: row.tool, Input: json.RawMessage(row.input)}); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// TestRulesHaveRoom holds that rules are shown whole: a long one above the keys, where nothing is
// cut.
func TestRulesHaveRoom(t *testing.T) {
	t.Parallel()
	for command, row := range map[string]struct{ above, keys string }{
		"npm test":                          {"", "[a] always Bash(npm test)"},
		"npm" + strings.Repeat(" test", 30): {"[a] would always allow on this channel:\n  Bash(npm" + strings.Repeat(" test", 30) + ")", "[a] always, as shown above"},
		"npm test\u2060":                    {"", "or write why not"},
	} {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		f := newForm(core.Approval{Tool: "Bash", Input: input})
		if above := strings.TrimPrefix(strings.TrimPrefix(f.ask(), f.show()), "\n"); above != row.above || !strings.HasSuffix(f.keys(), row.keys) {
			t.Errorf("%q: %q above the keys %q", command, above, f.keys())
		}
	}
}

// TestNumberOfNoOption holds that a mistyped number is no answer: the question is asked again, and
// says so.
func TestNumberOfNoOption(t *testing.T) {
	t.Parallel()
	f := newForm(core.Approval{Tool: core.ToolAskUser, Input: json.RawMessage(`{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}]}`)})
	if _, decided := f.words("7"); decided || !strings.HasPrefix(f.ask(), "There is no option 7. Choose 1 to 2, ") || !strings.HasSuffix(f.ask(), "\nWhich?\n[1] a\n[2] b") {
		t.Errorf("decided: %v; asked is %q", decided, f.ask())
	}
	if d, decided := f.words("2"); !decided || d.Answers["Which?"] != "b" {
		t.Errorf("decided: %v, %v", decided, d)
	}
}
