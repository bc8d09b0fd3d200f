package core

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
		"too long":            {tool: "Bash", input: `{"command":"` + strings.Repeat("a", 500) + `"}`},
		"a strange tool":      {tool: "two words"},
		"a question":          {tool: ToolAskUser, suggestion: `[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Read"}]}]`},
		"a plan":              {tool: ToolExitPlan},
		"a question smuggled": {tool: "Web", suggestion: `[{"type":"addRules","behavior":"allow","rules":[{"toolName":"AskUserQuestion"}]}]`},
		"a cut turn":          {kind: ApprovalContinue},
	} {
		a := Approval{Kind: row.kind, Tool: row.tool, Input: jsonRaw(row.input), Suggestion: jsonRaw(row.suggestion)}
		if got := AlwaysRules(a); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// To allow for ever writes the rule with the decision, tells the process, and keeps it:
// it knows the rule. The next one is started with it.
func TestAllowAlways(t *testing.T) {
	t.Parallel()
	play(t, Options{Approvals: ApprovalsAsk}, func(t *testing.T, w *world) {
		var seen []Change
		w.ledger.watch = func(c Change) {
			if len(c.Settings) > 0 {
				seen = append(seen, c)
			}
		}
		m, h, id := w.begun("one")
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		if _, err := w.m.Decide(t.Context(), a.ID, Decision{Allow: true, Always: true, By: "ann"}); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 1 || len(seen[0].Approvals) != 1 || seen[0].Approvals[0].State != ApprovalAllowed {
			t.Errorf("changes with rules: %+v", seen)
		}
		var told []map[string]any
		answer, _ := h.answered("r1")
		if err := json.Unmarshal(answer.Rules, &told); err != nil || len(told) != 1 || told[0]["destination"] != "session" || !answer.Allow {
			t.Errorf("the process was told %s (%v)", answer.Rules, err)
		}
		rs, err := w.m.Rules(t.Context(), "c")
		if err != nil || len(rs) != 1 || rs[0].Rule != "Bash(ls)" || rs[0].By != "ann" || rs[0].Tool != "Bash" {
			t.Fatalf("rules are %+v, %v", rs, err)
		}
		h.result("done", id)
		h.done(id)
		w.wants(m, Answered, "", "done")
		w.after(time.Minute)
		if w.served("c") != h {
			t.Fatal("a process that knows the rule was replaced")
		}
		if err := w.m.RemoveRule(t.Context(), "c", rs[0].ID); err != nil {
			t.Fatal(err)
		}
		w.after(2 * time.Second)
		if next := w.served("c"); next == h || len(next.launch.Settings.Rules) != 0 {
			t.Errorf("after the rule was taken back %+v serves", next.launch)
		}
	})
}

// A rule is there after a crash if, and only if, the decision is.
func TestAllowAlwaysAndCrash(t *testing.T) {
	t.Parallel()
	for written := range 2 {
		play(t, Options{Approvals: ApprovalsAsk}, func(t *testing.T, w *world) {
			_, h, _ := w.begun("one")
			h.ask("r1", "Bash")
			a := w.pending(1)[0]
			w.ledger.hold()
			go func() { _, _ = w.m.Decide(t.Context(), a.ID, Decision{Allow: true, Always: true}) }()
			synctest.Wait()
			w.ledger.step(2 * written) // what Decide reads, and the change
			synctest.Wait()
			w.crash()
			w.ledger.release()
			w.start()
			synctest.Wait()
			now, err := w.ledger.Approval(t.Context(), a.ID)
			if err != nil {
				t.Fatal(err)
			}
			if decided := now.State == ApprovalAllowed; decided != (len(w.rules()) == 1) || decided != (written == 1) {
				t.Errorf("approval is %s, rules are %q", now.State, w.rules())
			}
		})
	}
}
