package core

import (
	"encoding/json"
	"testing"
)

const colours = `{"questions":[` +
	`{"question":"Which colours?","header":"Colour","multiSelect":true,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]},` +
	`{"question":"How many?","header":"N","options":[{"label":"One","description":"1"},{"label":"Two","description":"2"}]}],"extra":{"a": 1}}`

func TestQuestions(t *testing.T) {
	t.Parallel()
	a := Approval{Tool: ToolAskUser, Input: json.RawMessage(colours)}
	qs, ok := Questions(a)
	if !ok || len(qs) != 2 || !qs[0].MultiSelect || qs[1].MultiSelect || qs[0].Header != "Colour" || qs[1].Options[1] != (Option{Label: "Two", Description: "2"}) {
		t.Errorf("questions are %+v, %v", qs, ok)
	}
	for name, other := range map[string]Approval{
		"another tool": {Tool: "Bash", Input: a.Input}, "a cut turn": {Kind: ApprovalContinue, Tool: ToolAskUser, Input: a.Input},
		"nothing asked": {Tool: ToolAskUser, Input: json.RawMessage(`{"questions":[]}`)}, "no JSON": {Tool: ToolAskUser, Input: json.RawMessage(`{`)},
	} {
		if qs, ok := Questions(other); ok {
			t.Errorf("%s asks %+v", name, qs)
		}
		if input, err := AnswerInput(other, map[string][]string{"How many?": {"One"}}); err == nil {
			t.Errorf("%s is answered with %s", name, input)
		}
	}
}

func TestAnswerInput(t *testing.T) {
	t.Parallel()
	a := Approval{Tool: ToolAskUser, Input: json.RawMessage(colours)}
	input, err := AnswerInput(a, map[string][]string{"Which colours?": {"Red", "Blue"}, "How many?": {`some, say "7" <8>`}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"answers":{"How many?":"some, say \"7\" <8>","Which colours?":"Red, Blue"},"extra":{"a":1},` + colours[1:len(colours)-len(`,"extra":{"a": 1}}`)] + `}`
	if string(input) != want {
		t.Errorf("input is %s\nwant %s", input, want)
	}
	for name, answers := range map[string]map[string][]string{
		"nothing": {}, "no answer": {"How many?": nil}, "not asked": {"Why?": {"a"}}, "two of one": {"How many?": {"One", "Two"}},
	} {
		if input, err := AnswerInput(a, answers); err == nil {
			t.Errorf("%s: %s", name, input)
		}
	}
}
