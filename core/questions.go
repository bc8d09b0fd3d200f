package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Tools that put questions to a person. Their approvals have the form of any tool's
// approval.
const (
	// ToolAskUser asks questions. A person answers by allowing the tool with an UpdatedInput
	// containing the answers: see Questions and AnswerInput. On a denial, the agent receives
	// the decision's message.
	ToolAskUser = "AskUserQuestion"
	// ToolExitPlan asks whether to carry out a plan. If the agent has written the plan to a
	// file, the input has the plan as "plan" and the file as "planFilePath"; otherwise the
	// agent's preceding words are the plan. When allowed, the agent leaves the mode plan and
	// continues at once; when denied, the agent revises the plan according to the message.
	ToolExitPlan = "ExitPlanMode"
)

// A Question is a question of a ToolAskUser approval.
type Question struct {
	Question    string   `json:"question"`
	Header      string   `json:"header"` // a word or two
	MultiSelect bool     `json:"multiSelect"`
	Options     []Option `json:"options"`
}

// An Option is an answer proposed by the agent. A person may also answer with a different
// text.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Preview     string `json:"preview,omitempty"`
}

// Questions returns the questions of the approval, and false for an approval of any tool but
// ToolAskUser or for unreadable input.
func Questions(a Approval) ([]Question, bool) {
	var input struct{ Questions []Question }
	if a.Kind != ApprovalTool || a.Tool != ToolAskUser || json.Unmarshal(a.Input, &input) != nil || len(input.Questions) == 0 {
		return nil, false
	}
	return input.Questions, true
}

// AnswerInput returns the UpdatedInput that answers the approval's questions with labels or
// free text, by question. Several answers to a question are joined by a comma, as the agent
// itself does. Questions may be left unanswered, but not all. Answering an unknown question
// is an error.
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
