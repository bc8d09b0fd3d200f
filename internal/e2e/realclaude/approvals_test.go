package realclaude

import (
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

func TestRealApprovals(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_ALLOWED_TOOLS=Read", "BARECLAW_APPROVALS=ask")

	command := "touch " + m.Path("allowed")
	id := g.Tell("http", "tool:bash "+command)
	asked := g.Asked(1)[0]
	input, _ := asked.JSON["input"].(map[string]any)
	if asked.Str("tool") != "Bash" || asked.Str("channel") != "http" || asked.Str("message_id") != id || input["command"] != command {
		t.Errorf("approval is %v", asked)
	}
	if m.Exists("allowed") {
		t.Error("the tool ran before it was allowed")
	}
	g.Decide(asked, map[string]any{"behavior": "allow"})
	g.Mentions(g.Outcome(id), "final after 1 call(s)")
	if !m.Exists("allowed") {
		t.Error("the tool did not run although it was allowed")
	}

	id = g.Tell("http", "tool:bash touch "+m.Path("denied"))
	g.Decide(g.Asked(1)[0], map[string]any{"behavior": "deny", "message": "not on a Sunday"})
	a := g.Outcome(id)
	g.Mentions(a, "final after 1 call(s)", "not on a Sunday")
	if a.Str("state") != "answered" || m.Exists("denied") {
		t.Errorf("denied tool ran: %v; outcome %s", m.Exists("denied"), a.Body)
	}

	id = g.Tell("http", "tool:bash touch "+m.Path("asked"))
	g.Decide(g.Asked(1)[0], map[string]any{"behavior": "allow", "updated_input": map[string]any{"command": "touch " + m.Path("changed")}})
	g.Mentions(g.Outcome(id), "final after 1 call(s)")
	if m.Exists("asked") || !m.Exists("changed") {
		t.Error("the changed input did not run in place of the one asked for")
	}

	id = g.Tell("http", "tools:bash 2 mkdir -p "+m.Path("work/made"))
	g.Decide(g.Asked(1)[0], map[string]any{"behavior": "allow", "remember": true}) // by the process
	g.Mentions(g.Outcome(id), "final after 2 call(s)")
	if files := m.Glob("work/.claude/*"); len(files) != 0 {
		t.Errorf("the rule was written to %v", files)
	}

	id = g.Tell("http", "tool:bash touch "+m.Path("late"))
	asked = g.Asked(1)[0]
	g.Interrupt("http")
	g.Failed(g.Outcome(id), "cancelled", "interrupted")
	late := g.Must("POST", "/approvals/"+asked.Str("id"), map[string]any{"behavior": "allow"}, 409)
	if !strings.Contains(string(late.Body), `"state":"void"`) || m.Exists("late") {
		t.Errorf("interrupted tool ran: %v; its approval: %s", m.Exists("late"), late.Body)
	}
	g.Say("http", "echo works").Want(t, "works")
	g.Balanced()
}

// TestRealQuestionsAreAnswered answers two questions as an adapter does: several labels
// of the first, words of one's own to the second.
func TestRealQuestionsAreAnswered(t *testing.T) {
	_, g := harness.StartReal(t, "BARECLAW_APPROVALS=ask")
	id := g.Tell("http", `tool:AskUserQuestion {"questions":[`+
		`{"question":"Which colours?","header":"Colour","multiSelect":true,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"},{"label":"Green","description":"leaf"}]},`+
		`{"question":"How many?","header":"Count","multiSelect":false,"options":[{"label":"One","description":"1"},{"label":"Two","description":"2"}]}]}`)
	asked := g.Asked(1)[0]
	input, err := json.Marshal(asked.JSON["input"])
	check.OK(t, err)
	a := core.Approval{Tool: core.ToolAskUser, Input: input}
	if qs, ok := core.Questions(a); !ok || len(qs) != 2 || !qs[0].MultiSelect || len(qs[0].Options) != 3 {
		t.Fatalf("questions are %+v", qs)
	}
	if asked.JSON["always"] != nil {
		t.Errorf("questions could be allowed for ever: %v", asked.JSON["always"])
	}
	answers, err := core.AnswerInput(a, map[string][]string{"Which colours?": {"Red", "Green"}, "How many?": {"a few, say 7"}})
	check.OK(t, err)
	g.Decide(asked, map[string]any{"behavior": "allow", "always": true, "updated_input": answers})
	g.Mentions(g.Outcome(id), `"Which colours?"="Red, Green"`, `"How many?"="a few, say 7"`)
	if rules := g.Must("GET", "/channels/http/rules", nil, 200).Array("rules"); len(rules) != 0 {
		t.Errorf("rules were added: %v", rules)
	}
	g.Balanced()
}

// TestRealPlanIsDecided sends a plan back with what is to be changed, then has it be
// carried out: claude leaves the mode.
func TestRealPlanIsDecided(t *testing.T) {
	_, g := harness.StartReal(t, "BARECLAW_APPROVALS=ask", "BARECLAW_PERMISSION_MODE=plan")
	id := g.Tell("http", "tool:ExitPlanMode {}")
	asked := g.Asked(1)[0]
	if asked.Str("tool") != core.ToolExitPlan || asked.JSON["always"] != nil {
		t.Errorf("approval is %v", asked)
	}
	g.Decide(asked, map[string]any{"behavior": "deny", "message": "Make it shorter."})
	g.Mentions(g.Outcome(id), "Make it shorter.")
	said := g.Watch("http")
	g.Say("http", "echo on")
	g.Hear(said, `"permissionMode":"plan"`)
	id = g.Tell("http", "tool:ExitPlanMode {}")
	g.Decide(g.Asked(1)[0], map[string]any{"behavior": "allow"})
	g.Mentions(g.Outcome(id), "approved")
	said = g.Watch("http")
	g.Say("http", "echo off")
	g.Hear(said, `"permissionMode":"default"`)
	g.Balanced()
}

func TestRealToolIsDeniedWhereNobodyCanBeAsked(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_ALLOWED_TOOLS=Read")
	a := g.Say("http", "tool:bash touch "+m.Path("made"))
	g.Mentions(a, "final after 1 call(s)", "BARECLAW_ALLOWED_TOOLS", "BARECLAW_APPROVALS=ask")
	if m.Exists("made") {
		t.Error("the tool ran")
	}
	if a := g.Must("GET", "/approvals", nil, 200); len(a.JSON["approvals"].([]any)) != 0 {
		t.Errorf("approvals are left: %s", a.Body)
	}
	g.Balanced()
}
