package core

import (
	"encoding/json"
	"slices"
	"strings"
)

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

// suggested returns the grants suggested by the agent.
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

// changesFiles reports whether the agent applies its rules for Edit to the tool.
func changesFiles(tool string) bool {
	return slices.Contains([]string{"Edit", "MultiEdit", "Write", "NotebookEdit"}, tool)
}

// ownGrant returns the narrowest rule possible without the agent's suggestion.
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

// SessionRules encodes the rules of AlwaysRules for the agent's running process; nil without
// rules.
func SessionRules(a Approval) json.RawMessage {
	gs := grants(&a)
	if len(gs) == 0 {
		return nil
	}
	b, err := json.Marshal([]any{map[string]any{"type": "addRules", "rules": gs, "behavior": "allow", "destination": "session"}})
	if err != nil {
		return nil // cannot fail: only strings are encoded
	}
	return b
}
