package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The deliveries made for approvals on channels whose adapter delivers. Both have an
// ApprovalBody; DeliverApproval comes first.
const (
	DeliverApproval       DeliveryKind = "approval"        // a person is asked to decide
	DeliverApprovalClosed DeliveryKind = "approval_closed" // the approval is decided, or can no longer be decided
)

// An ApprovalBody is the body of the deliveries about an approval.
type ApprovalBody struct {
	ID string `json:"id"` // of the approval
}

// ApprovalDelivery returns the id of the delivery that asks about an approval.
func ApprovalDelivery(approval string) string { return string(DeliverApproval) + ":" + approval }

// A CallRequest asks people whether a call of one of the gateway's tools may begin.
type CallRequest struct {
	ID         string          // of the approval: the same for a call that is asked about again
	Channel    ChannelKey      // whose session calls, and whose people decide; empty for a call from outside of sessions
	RequestID  string          // that of the session's [ToolRequest]
	Turn       TurnID          // in which it calls; empty outside of turns
	Tool       string          // as the agent names it
	Input      json.RawMessage // the arguments
	Why        string          // as in [Approval]
	Suggestion json.RawMessage // the rules that Always writes; nil: Always is not offered
	// Asked is called once people can decide, for a call from outside of sessions. It must not block for long.
	// Nil: nobody is told.
	Asked func()
}

// Approval returns the approval that people decide about, which has no times and no state yet.
func (r *CallRequest) Approval() Approval {
	return Approval{
		ID:         r.ID,
		Kind:       ApprovalCall,
		Channel:    r.Channel,
		RequestID:  r.RequestID,
		Tool:       r.Tool,
		Input:      r.Input,
		Why:        r.Why,
		Suggestion: r.Suggestion,
	}
}

// Decided returns the approval as a decision leaves it. Only the arguments of a call change: those of the
// agent's own tool change in its answer.
func (a Approval) Decided(d Decision, at time.Time) Approval {
	a.State = ApprovalDenied
	a.Reason = d.Message
	a.DecidedAt = at
	a.DecidedBy = d.By
	if !d.Allow {
		return a
	}
	a.State = ApprovalAllowed
	a.Reason = ""
	if a.Kind == ApprovalCall && d.UpdatedInput != nil {
		a.Input = d.UpdatedInput
	}
	return a
}

// AsksForTool reports whether people decide about a tool, rather than about a turn that was cut.
func (a *Approval) AsksForTool() bool { return a.Kind == ApprovalTool || a.Kind == ApprovalCall }

// PendingAt reports whether the approval can still be decided at the time now.
func (a *Approval) PendingAt(now time.Time) bool {
	return a.State == ApprovalPending && (a.Kind != ApprovalContinue || now.Before(a.ExpiresAt))
}

// neverRuled are the tools that put a question to a person. A rule that always allows the
// tools would answer for the person.
var neverRuled = []string{ToolAskUser, ToolExitPlan}

// A grant is a permission rule, split into tool and content.
type grant struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent,omitempty"`
}

// rule formats the grant as a string. Brackets and backslashes of the content are escaped as
// in the agent's own settings.
func (g grant) rule() string {
	if g.Content == "" {
		return g.Tool
	}
	return g.Tool + "(" + strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(g.Content) + ")"
}

// AlwaysRules returns the rules that allowing an approval with Always writes to the channel.
// Without rules, Always allows only the single call.
//
// The rules are taken from the agent's suggestion (entries addRules with the behavior
// allow). The agent may also suggest a permission mode (setMode) or further directories
// (addDirectories). AlwaysRules ignores modes, because a mode is a setting of the channel
// and affects more than the tool. If the tool changes files, each directory becomes a rule
// for changing files in the directory. Without a usable suggestion, the rule is the bare
// name of the tool; for Bash, the exact command, unless the command is longer than a line or
// contains pattern characters.
//
// AlwaysRules leaves out rules that a person cannot see whole, because of characters without a
// glyph or of long runs of spaces.
func AlwaysRules(a Approval) []string {
	var rules []string
	for _, g := range grants(&a) {
		rules = append(rules, g.rule())
	}
	return rules
}

func grants(a *Approval) []grant {
	if !a.AsksForTool() || slices.Contains(neverRuled, a.Tool) {
		return nil
	}
	all := suggested(a)
	if len(all) == 0 && a.Kind == ApprovalTool {
		all = ownGrant(a)
	}
	return slices.DeleteFunc(all, func(g grant) bool {
		_, err := NewRule(a.Channel, g.rule(), "", a.CreatedAt)
		return err != nil || !isSeen(g.rule())
	})
}

// longestGap is the longest run of spaces in a rule that a person is offered.
const longestGap = 20

// isSeen reports whether a person sees each character of a rule: each has a glyph of its own, and
// no gap pushes the rest out of sight.
func isSeen(rule string) bool {
	return !strings.Contains(rule, strings.Repeat(" ", longestGap+1)) && !strings.ContainsFunc(rule, func(r rune) bool {
		return r == '\u2800' || r == '\uFFFC' || // the blank of Braille; a stand-in for an object
			!unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	})
}

func suggested(a *Approval) []grant {
	var entries []struct {
		Type        string   `json:"type"`
		Behavior    string   `json:"behavior"`
		Rules       []grant  `json:"rules"`
		Directories []string `json:"directories"`
	}
	if DecodeInput(a.Suggestion, &entries) != nil {
		return nil
	}
	var all []grant
	for _, e := range entries {
		if e.Type == "addRules" && e.Behavior == "allow" {
			all = append(all, e.Rules...)
		}
	}
	if len(all) > 0 || !changesFiles(a.Tool) {
		return all
	}
	for _, e := range entries {
		for _, dir := range e.Directories {
			if e.Type == "addDirectories" && strings.HasPrefix(dir, "/") {
				all = append(all, grant{"Edit", "/" + strings.TrimSuffix(dir, "/") + "/**"})
			}
		}
	}
	return all
}

// changesFiles reports whether the agent applies its rules for Edit to the tool.
func changesFiles(tool string) bool {
	return slices.Contains([]string{"Edit", "MultiEdit", "Write", "NotebookEdit"}, tool)
}

// ownGrant returns the narrowest rule possible without the agent's suggestion.
func ownGrant(a *Approval) []grant {
	if a.Tool != "Bash" {
		return []grant{{Tool: a.Tool}}
	}
	var input struct {
		Command string `json:"command"`
	}
	if DecodeInput(a.Input, &input) != nil || strings.Trim(input.Command, " ") != input.Command ||
		input.Command == "" || strings.ContainsAny(input.Command, "*\n") || strings.HasSuffix(input.Command, ":") {
		return nil
	}
	return []grant{{"Bash", input.Command}}
}

// DecodeInput decodes the input of a tool into v as the agent reads it: by the exact names of
// members. An object with two members of one name is an error, because only one of the two would
// be shown.
func DecodeInput(input json.RawMessage, v any) error {
	return jsonv2.Unmarshal(input, v, jsontext.AllowInvalidUTF8(true))
}

// SuggestedRule returns an approval's Suggestion of a rule that allows a tool.
func SuggestedRule(tool string) json.RawMessage { return encodeRules([]grant{{Tool: tool}}) }

// SessionRules encodes the rules of AlwaysRules for the agent's running process; nil without
// rules.
func SessionRules(a Approval) json.RawMessage {
	if gs := grants(&a); len(gs) > 0 {
		return encodeRules(gs)
	}
	return nil
}

func encodeRules(gs []grant) json.RawMessage {
	b, err := json.Marshal([]any{map[string]any{"type": "addRules", "rules": gs, "behavior": "allow", "destination": "session"}})
	if err != nil {
		return nil // cannot fail: only strings are encoded
	}
	return b
}

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
	var input struct {
		Questions []Question `json:"questions"`
	}
	if a.Kind != ApprovalTool || a.Tool != ToolAskUser || DecodeInput(a.Input, &input) != nil || len(input.Questions) == 0 {
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
	return WithAnswers(&a, given)
}

// WithAnswers returns the input of a ToolAskUser approval with answers by question, which are
// not compared with the questions. An input that is no object is an error.
func WithAnswers(a *Approval, given map[string]string) (json.RawMessage, error) {
	input := map[string]json.RawMessage{}
	if err := json.Unmarshal(a.Input, &input); err != nil || input == nil {
		return nil, fmt.Errorf("read the questions of approval %s: %w", a.ID, cmp.Or(err, ErrBadContent))
	}
	encoded, err := encodeJSON(given)
	if err != nil {
		return nil, err
	}
	input["answers"] = encoded
	return encodeJSON(input)
}
