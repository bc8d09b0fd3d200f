package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Tools by which the agent asks a person. They come as approvals like any other tool.
const (
	// ToolAskUser asks questions. It is answered by allowing it with an UpdatedInput
	// that has the answers: see Questions and AnswerInput. Denied, its message is what
	// the agent is told.
	ToolAskUser = "AskUserQuestion"
	// ToolExitPlan asks whether a plan is to be carried out. Its input has the plan as
	// "plan", and the file it is in as "planFilePath", if the agent has written one; else
	// the agent's words before it are the plan. Allowed, the agent leaves the mode plan
	// and goes on at once; denied, it plans on, with the message as what to change.
	ToolExitPlan = "ExitPlanMode"
)

// A Question is one of those that an approval of ToolAskUser asks.
type Question struct {
	Question    string   `json:"question"`
	Header      string   `json:"header"` // a word or two
	MultiSelect bool     `json:"multiSelect"`
	Options     []Option `json:"options"`
}

// An Option is an answer that the agent proposes. Another text may be given instead.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Preview     string `json:"preview,omitempty"`
}

// Questions returns what the approval asks, or false if it is no approval of
// ToolAskUser, or cannot be read.
func Questions(a Approval) ([]Question, bool) {
	var input struct{ Questions []Question }
	if a.Kind != ApprovalTool || a.Tool != ToolAskUser || json.Unmarshal(a.Input, &input) != nil || len(input.Questions) == 0 {
		return nil, false
	}
	return input.Questions, true
}

// AnswerInput returns the UpdatedInput that answers the approval's questions: labels,
// or words of one's own, by question. Several answers to one question are joined by a
// comma, as the agent does itself. Questions may be left without one, but not all.
// It is an error to answer what was not asked.
func AnswerInput(a Approval, answers map[string][]string) (json.RawMessage, error) {
	asked, ok := Questions(a)
	if !ok {
		return nil, fmt.Errorf("approval %s of %s asks no questions", a.ID, a.Tool)
	}
	given := map[string]string{}
	for question, chosen := range answers {
		i := slices.IndexFunc(asked, func(q Question) bool { return q.Question == question })
		switch {
		case i < 0:
			return nil, fmt.Errorf("approval %s does not ask %.60q", a.ID, question)
		case len(chosen) > 1 && !asked[i].MultiSelect:
			return nil, fmt.Errorf("%.60q takes one answer, not %d", question, len(chosen))
		case len(chosen) > 0:
			given[question] = strings.Join(chosen, ", ")
		}
	}
	if len(given) == 0 {
		return nil, errors.New("no question is answered")
	}
	var input map[string]json.RawMessage
	if err := json.Unmarshal(a.Input, &input); err != nil {
		return nil, fmt.Errorf("read the questions of approval %s: %w", a.ID, err)
	}
	encoded, err := EncodeJSON(given)
	if err != nil {
		return nil, err
	}
	input["answers"] = encoded
	return EncodeJSON(input)
}
