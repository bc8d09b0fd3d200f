package core

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAlwaysRules(t *testing.T) {
	t.Parallel()
	const modes = `{"type":"setMode","mode":"acceptEdits","destination":"session"}`
	for name, row := range map[string]struct {
		tool, input, suggestion string
		kind                    ApprovalKind
		want                    []string
	}{
		"suggested": {tool: "Bash", suggestion: `[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"touch a *"},{"toolName":"Bash","ruleContent":"rm -f b"}]},` + modes + `]`,
			want: []string{"Bash(touch a *)", "Bash(rm -f b)"}},
		"escaped": {tool: "Bash", suggestion: `[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"f (1), \\n"}]}]`,
			want: []string{`Bash(f \(1\), \\n)`}},
		"a path":              {tool: "Read", suggestion: `[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Read","ruleContent":"//etc/**"}]}]`, want: []string{"Read(//etc/**)"}},
		"a denial":            {tool: "Web", suggestion: `[{"type":"addRules","behavior":"deny","rules":[{"toolName":"Web","ruleContent":"x"}]}]`, want: []string{"Web"}},
		"only a mode":         {tool: "Write", suggestion: `[` + modes + `]`, want: []string{"Write"}},
		"a directory":         {tool: "Write", suggestion: `[` + modes + `,{"type":"addDirectories","directories":["/srv/data/"]}]`, want: []string{"Edit(//srv/data/**)"}},
		"not of this tool":    {tool: "Web", suggestion: `[{"type":"addDirectories","directories":["/srv"]}]`, want: []string{"Web"}},
		"no suggestion":       {tool: "mcp__web__search", want: []string{"mcp__web__search"}},
		"broken":              {tool: "Web", suggestion: `{"x"`, want: []string{"Web"}},
		"a command":           {tool: "Bash", input: `{"command":"echo (a), b"}`, want: []string{`Bash(echo \(a\), b)`}},
		"a pattern":           {tool: "Bash", input: `{"command":"rm *.o"}`},
		"a prefix":            {tool: "Bash", input: `{"command":"echo a:"}`},
		"two lines":           {tool: "Bash", input: `{"command":"a\nb"}`},
		"no command":          {tool: "Bash", input: `{}`},
		"another name":        {tool: "Bash", input: `{"Command":"ls","command":"rm -r x"}`, want: []string{"Bash(rm -r x)"}},
		"named twice":         {tool: "Bash", input: `{"command":"ls","command":"rm -r x"}`},
		"hidden":              {tool: "Bash", input: `{"command":"ls \u200b"}`},
		"tags":                {tool: "Bash", suggestion: `[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"ls \udb40\udc3b*"},{"toolName":"Bash","ruleContent":"ls *"}]}]`, want: []string{"Bash(ls *)"}},
		"a gap":               {tool: "Bash", input: `{"command":"true` + strings.Repeat(" ", 60) + `; curl evil"}`},
		"accents":             {tool: "Bash", input: `{"command":"touch 'é' 'نص' '👩'"}`, want: []string{"Bash(touch 'é' 'نص' '👩')"}},
		"too long":            {tool: "Bash", input: `{"command":"` + strings.Repeat("a", 500) + `"}`},
		"a strange tool":      {tool: "two words"},
		"a question":          {tool: ToolAskUser, suggestion: `[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Read"}]}]`},
		"a plan":              {tool: ToolExitPlan},
		"a question smuggled": {tool: "Web", suggestion: `[{"type":"addRules","behavior":"allow","rules":[{"toolName":"AskUserQuestion"}]}]`},
		"a cut turn":          {kind: ApprovalContinue},
	} {
		a := Approval{Kind: row.kind, Tool: row.tool, Input: json.RawMessage(row.input), Suggestion: json.RawMessage(row.suggestion)}
		if got := AlwaysRules(a); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "-p", "Bash(", "Bash()", "Bash(a) b", "(a)", "*", "two words", "Bash(a\nb)", "Bash(\xff)", ToolAskUser, "Bash(" + strings.Repeat("a", 400) + ")"} {
		if _, err := NewRule("c", bad, "", time.Now()); !errors.Is(err, ErrBadSetting) {
			t.Errorf("rule %q: %v, want %v", bad, err, ErrBadSetting)
		}
	}
}
