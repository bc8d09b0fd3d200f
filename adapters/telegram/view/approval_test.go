package view

import (
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// What a button means fits into it: https://core.telegram.org/bots/api#inlinekeyboardbutton
func TestButtonsFit(t *testing.T) {
	t.Parallel()
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	text := string(long)
	id := "01a200a0-30df-79e6-bc79-d2bc7d5fe738"
	input, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		t.Fatal(err)
	}
	tool := &core.Approval{ID: id, Tool: "Bash", Input: input, State: core.ApprovalPending, ExpiresAt: time.Now()}
	plan := &core.Approval{ID: id, Tool: core.ToolExitPlan, Input: json.RawMessage(`{}`), State: core.ApprovalPending}
	q := core.Question{Question: text, MultiSelect: true, Options: []core.Option{{Label: text, Description: text}, {Label: "b"}}}
	for _, look := range []Request{Tool(tool), Plan(plan), Questions(tool, []core.Question{q, q}, Answers{})} {
		if len(look.Buttons) == 0 || len(look.Text.Split(4096)) != 1 {
			t.Errorf("%d rows of buttons, %d messages", len(look.Buttons), len(look.Text.Split(4096)))
		}
		for _, row := range look.Buttons {
			for _, b := range row {
				if len(b.Data) < 1 || len(b.Data) > 64 || len([]rune(b.Text)) > labelShown+2 {
					t.Errorf("the button %q means %q", b.Text, b.Data)
				}
			}
		}
	}
	for _, n := range []Note{Model("x", "opus"), Mode("x", ""), Verbose("x", 1)} {
		for _, row := range n.Buttons {
			for _, b := range row {
				if len(b.Data) > 64 {
					t.Errorf("the button %q means %q", b.Text, b.Data)
				}
			}
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Millisecond: "0.1 s", 400 * time.Millisecond: "0.4 s", 59 * time.Second: "59 s", 61 * time.Second: "1 min 1 s", 26 * time.Hour: "1 d 2 h", 61 * time.Minute: "1 h 1 min",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

// TestAlwaysIsSeen holds that nothing is allowed for ever that was not shown whole: the
// agent suggests the rules, and may have been talked into it.
func TestAlwaysIsSeen(t *testing.T) {
	t.Parallel()
	rule := func(content string) string {
		return fmt.Sprintf(`{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":%q}]}`, content)
	}
	for name, row := range map[string]struct {
		suggestion string
		button     string // that allows for ever; empty: none
		shown      string // in the message
	}{
		"short":     {rule("npm test *"), "Always Bash(npm test *)", ""},
		"hidden":    {rule("npm run something long and harmless *") + "," + rule("rm *"), "Always (see above)", "Bash(npm run something long and harmless *)\nBash(rm *)"},
		"spaces":    {rule("echo  *"), "Always (see above)", "Bash(echo  *)"},
		"endless":   {strings.Repeat(rule(strings.Repeat("x", 300))+",", 9) + rule("rm *"), "", ""},
		"backwards": {rule("\u202etset"), "Always Bash(\uFFFDtset)", ""},
	} {
		p := core.Approval{ID: "1", Channel: "tg-7", Kind: core.ApprovalTool, Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`),
			State: core.ApprovalPending, Suggestion: json.RawMessage("[" + row.suggestion + "]")}
		look, button := Tool(&p), ""
		for _, buttons := range look.Buttons {
			if b := buttons[0]; strings.HasPrefix(b.Data, "always:") {
				button = markdown.Clean(b.Text)
			}
		}
		if button != row.button || !strings.Contains(look.Text.Text, row.shown) {
			t.Errorf("%s: the button is %q below %q", name, button, look.Text.Text)
		}
	}
}
