package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"bareclaw/core"
)

// pending waits until the daemon has one approval to be decided.
func (g *realGateway) pending() map[string]any {
	g.t.Helper()
	var found map[string]any
	g.m.eventually("approval is asked for", func() bool {
		all, _ := g.must("GET", "/approvals", nil, 200).json["approvals"].([]any)
		if len(all) == 1 {
			found = all[0].(map[string]any)
		}
		return len(all) == 1
	})
	return found
}

// decide answers an approval.
func (g *realGateway) decide(approval map[string]any, decision map[string]any) {
	g.t.Helper()
	a := g.must("POST", "/approvals/"+approval["id"].(string), decision, 200)
	want := map[string]string{"allow": "allowed", "deny": "denied"}[decision["behavior"].(string)]
	if a.str("state") != want {
		g.t.Errorf("approval is %s, want %s: %s", a.str("state"), want, a.body)
	}
}

// exists reports whether a file of the machine is there.
func (m *realMachine) exists(name string) bool {
	_, err := os.Stat(m.path(name))
	return err == nil
}

func TestRealApprovals(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_ALLOWED_TOOLS=Read", "BARECLAW_APPROVALS=ask")
	g := m.start()

	command := "touch " + m.path("allowed")
	id := g.tell("http", "tool:bash "+command)
	asked := g.pending()
	input, _ := asked["input"].(map[string]any)
	if asked["tool"] != "Bash" || asked["channel"] != "http" || asked["message_id"] != id || input["command"] != command {
		t.Errorf("approval is %v", asked)
	}
	if m.exists("allowed") {
		t.Error("the tool ran before it was allowed")
	}
	g.decide(asked, map[string]any{"behavior": "allow"})
	g.mentions(g.outcome(id), "final after 1 call(s)")
	if !m.exists("allowed") {
		t.Error("the tool did not run although it was allowed")
	}

	id = g.tell("http", "tool:bash touch "+m.path("denied"))
	g.decide(g.pending(), map[string]any{"behavior": "deny", "message": "not on a Sunday"})
	a := g.outcome(id)
	g.mentions(a, "final after 1 call(s)", "not on a Sunday")
	if a.str("state") != "answered" || m.exists("denied") {
		t.Errorf("denied tool ran: %v; outcome %s", m.exists("denied"), a.body)
	}

	id = g.tell("http", "tool:bash touch "+m.path("asked"))
	g.decide(g.pending(), map[string]any{"behavior": "allow", "updated_input": map[string]any{"command": "touch " + m.path("changed")}})
	g.mentions(g.outcome(id), "final after 1 call(s)")
	if m.exists("asked") || !m.exists("changed") {
		t.Error("the changed input did not run in place of the one asked for")
	}

	id = g.tell("http", "tool:bash touch "+m.path("late"))
	asked = g.pending()
	g.interrupt("http")
	g.failed(g.outcome(id), "cancelled", "interrupted")
	late := g.must("POST", "/approvals/"+asked["id"].(string), map[string]any{"behavior": "allow"}, 409)
	if !strings.Contains(string(late.body), `"state":"void"`) || m.exists("late") {
		t.Errorf("interrupted tool ran: %v; its approval: %s", m.exists("late"), late.body)
	}
	g.say("http", "echo works").want(t, "works")
	g.balanced()
}

func TestRealApprovalIsRememberedForTheProcess(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_ALLOWED_TOOLS=Read", "BARECLAW_APPROVALS=ask")
	g := m.start()
	id := g.tell("http", "tools:bash 2 mkdir -p "+m.path("work/made"))
	g.decide(g.pending(), map[string]any{"behavior": "allow", "remember": true})
	g.mentions(g.outcome(id), "final after 2 call(s)")
	if files := m.glob("work/.claude/*"); len(files) != 0 {
		t.Errorf("the rule was written to %v", files)
	}
	g.balanced()
}

func TestRealQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_APPROVALS=ask")
	g := m.start()
	question, err := json.Marshal(map[string]any{"questions": []any{map[string]any{
		"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []any{map[string]any{"label": "Red", "description": "warm"}, map[string]any{"label": "Blue", "description": "cold"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	id := g.tell("http", "tool:AskUserQuestion "+string(question))
	asked := g.pending()
	if asked["tool"] != "AskUserQuestion" {
		t.Errorf("approval is %v", asked)
	}
	g.decide(asked, map[string]any{"behavior": "allow", "answers": map[string]string{"Which colour?": "Blue"}})
	a := g.outcome(id)
	g.mentions(a, "final after 1 call(s)", "Which colour?", "Blue")
	if strings.Contains(a.str("text"), "Red") {
		t.Errorf("the answer is %q", a.str("text"))
	}
	g.balanced()
}

// TestRealQuestionsAreAnswered answers two questions as an adapter does: several labels
// of the first, words of one's own to the second.
func TestRealQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_APPROVALS=ask")
	g := m.start()
	id := g.tell("http", `tool:AskUserQuestion {"questions":[`+
		`{"question":"Which colours?","header":"Colour","multiSelect":true,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"},{"label":"Green","description":"leaf"}]},`+
		`{"question":"How many?","header":"Count","multiSelect":false,"options":[{"label":"One","description":"1"},{"label":"Two","description":"2"}]}]}`)
	asked := g.pending()
	input, err := json.Marshal(asked["input"])
	if err != nil {
		t.Fatal(err)
	}
	a := core.Approval{Tool: core.ToolAskUser, Input: input}
	if qs, ok := core.Questions(a); !ok || len(qs) != 2 || !qs[0].MultiSelect || len(qs[0].Options) != 3 {
		t.Fatalf("questions are %+v", qs)
	}
	if asked["always"] != nil {
		t.Errorf("questions could be allowed for ever: %v", asked["always"])
	}
	answers, err := core.AnswerInput(a, map[string][]string{"Which colours?": {"Red", "Green"}, "How many?": {"a few, say 7"}})
	if err != nil {
		t.Fatal(err)
	}
	g.decide(asked, map[string]any{"behavior": "allow", "always": true, "updated_input": answers})
	g.mentions(g.outcome(id), `"Which colours?"="Red, Green"`, `"How many?"="a few, say 7"`)
	if rules := g.must("GET", "/channels/http/rules", nil, 200).array("rules"); len(rules) != 0 {
		t.Errorf("rules were added: %v", rules)
	}
	g.balanced()
}

// TestRealPlanIsDecided sends a plan back with what is to be changed, then has it be
// carried out: claude leaves the mode.
func TestRealPlanIsDecided(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_APPROVALS=ask", "BARECLAW_PERMISSION_MODE=plan")
	g := m.start()
	id := g.tell("http", "tool:ExitPlanMode {}")
	asked := g.pending()
	if asked["tool"] != core.ToolExitPlan || asked["always"] != nil {
		t.Errorf("approval is %v", asked)
	}
	g.decide(asked, map[string]any{"behavior": "deny", "message": "Make it shorter."})
	g.mentions(g.outcome(id), "Make it shorter.")
	said := g.watch("http")
	g.say("http", "echo on")
	g.hear(said, `"permissionMode":"plan"`)
	id = g.tell("http", "tool:ExitPlanMode {}")
	g.decide(g.pending(), map[string]any{"behavior": "allow"})
	g.mentions(g.outcome(id), "approved")
	said = g.watch("http")
	g.say("http", "echo off")
	g.hear(said, `"permissionMode":"default"`)
	g.balanced()
}

func TestRealToolIsDeniedWhereNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_ALLOWED_TOOLS=Read")
	g := m.start()
	a := g.say("http", "tool:bash touch "+m.path("made"))
	g.mentions(a, "final after 1 call(s)", "BARECLAW_ALLOWED_TOOLS", "BARECLAW_APPROVALS=ask")
	if m.exists("made") {
		t.Error("the tool ran")
	}
	if a := g.must("GET", "/approvals", nil, 200); len(a.json["approvals"].([]any)) != 0 {
		t.Errorf("approvals are left: %s", a.body)
	}
	g.balanced()
}

func TestRealApprovalSurvivesKillOfDaemon(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_ALLOWED_TOOLS=Read", "BARECLAW_APPROVALS=ask")
	g := m.start()
	id := g.tell("http", "tool:bash echo ran >> "+m.path("ran"))
	asked, pid := g.pending(), g.agent("http")
	g.kill()
	g = m.start()
	again := g.pending()
	if again["id"] != asked["id"] || again["message_id"] != id {
		t.Errorf("approval is %v, was %v", again, asked)
	}
	g.decide(again, map[string]any{"behavior": "allow"})
	g.mentions(g.outcome(id), "final after 1 call(s)")
	if n := len(m.lines("ran")); n != 1 {
		t.Errorf("the tool ran %d times, want once", n)
	}
	g.sameAgent("http", pid)
	g.balanced()
}
