package core

import (
	"encoding/json"
	"slices"
	"strings"
)

// neverRuled are the tools by which the agent asks a person: to allow them for
// ever would answer for that person.
var neverRuled = []string{ToolAskUser, ToolExitPlan}

// A grant is one rule in its parts.
type grant struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent,omitempty"`
}

// rule writes the grant as one string. Brackets and backslashes of the content are
// escaped, as the agent does in its own settings.
func (g grant) rule() string {
	if g.Content == "" {
		return g.Tool
	}
	return g.Tool + "(" + strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(g.Content) + ")"
}

// AlwaysRules returns the rules that allowing an approval with Always would write,
// none where it would write nothing; then Always allows this one call.
//
// They are those that the agent suggests for allowing calls of this kind (entries
// addRules with the behavior allow). It may also suggest another permission mode
// (setMode) or further directories (addDirectories): a mode is a setting of the
// channel and decides about more than this tool, so it is left out; directories
// become rules for changing files in them if the tool changes files. Where nothing
// is left, the rule is the tool's bare name; of Bash it is the exact command, unless
// that is longer than a line or contains what a rule takes for a pattern.
func AlwaysRules(a Approval) []string {
	var rules []string
	for _, g := range grants(&a) {
		rules = append(rules, g.rule())
	}
	return rules
}

func grants(a *Approval) []grant {
	if a.Kind != ApprovalTool || slices.Contains(neverRuled, a.Tool) {
		return nil
	}
	all := suggested(a)
	if len(all) == 0 {
		all = ownGrant(a)
	}
	return slices.DeleteFunc(all, func(g grant) bool {
		_, err := NewRule(a.Channel, g.rule(), "", a.CreatedAt)
		return err != nil
	})
}

// suggested returns what the agent suggests.
func suggested(a *Approval) []grant {
	var entries []struct {
		Type, Behavior string
		Rules          []grant
		Directories    []string
	}
	if json.Unmarshal(a.Suggestion, &entries) != nil {
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

// changesFiles reports whether the agent decides about the tool by its rules for
// Edit.
func changesFiles(tool string) bool {
	return slices.Contains([]string{"Edit", "MultiEdit", "Write", "NotebookEdit"}, tool)
}

// ownGrant is the narrowest rule that can be made without the agent's help.
func ownGrant(a *Approval) []grant {
	if a.Tool != "Bash" {
		return []grant{{Tool: a.Tool}}
	}
	var input struct{ Command string }
	if json.Unmarshal(a.Input, &input) != nil || strings.Trim(input.Command, " ") != input.Command ||
		input.Command == "" || strings.ContainsAny(input.Command, "*\n") || strings.HasSuffix(input.Command, ":") {
		return nil
	}
	return []grant{{"Bash", input.Command}}
}

// SessionRules returns what tells the agent's running process of the rules that
// AlwaysRules returns; nil where there are none.
func SessionRules(a Approval) json.RawMessage {
	gs := grants(&a)
	if len(gs) == 0 {
		return nil
	}
	b, err := json.Marshal([]any{map[string]any{"type": "addRules", "rules": gs, "behavior": "allow", "destination": "session"}})
	if err != nil {
		return nil // cannot be: these are strings
	}
	return b
}
