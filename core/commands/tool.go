package commands

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bareclaw/core/tools"
	"bareclaw/internal/mdtext"
)

// Bounds of what is shown of one tool.
const (
	parametersShown = 20
	sheetUnits      = 1500 // of the description, in UTF-16 units
	nameUnits       = 60   // of the name of a parameter, and of its type, in UTF-16 units
)

// toolSheet shows a tool, and whether people are asked before its calls.
func toolSheet(t *tools.Tool, ask tools.Ask) string {
	var s statusWriter
	s.b.WriteString(mdtext.Code(t.Name) + "\n\n")
	if purpose := mdtext.Brief(t.Words(), sheetUnits); purpose != "" {
		s.b.WriteString("> " + mdtext.Literal(purpose) + "\n\n") // the words of whoever provides the tool
	}
	s.line("From", originOf(t))
	s.line("For", mdtext.Literal(string(t.Category)))
	s.line("Asks", whoIsAsked(ask))
	parameters := parametersOf(t.Input)
	if len(parameters) == 0 {
		s.line("Parameters", "none")
		return s.b.String()
	}
	s.line("Parameters", strconv.Itoa(len(parameters)))
	s.b.WriteString("\n")
	shown := parameters[:min(len(parameters), parametersShown)]
	for i := range shown {
		s.b.WriteString("- " + shown[i].text() + "\n")
	}
	if more := len(parameters) - len(shown); more > 0 {
		fmt.Fprintf(&s.b, "\nAnd %d more.", more)
	}
	return s.b.String()
}

// whoIsAsked says whether people are asked before calls, and why.
func whoIsAsked(ask tools.Ask) string {
	text := "a person, before each call"
	switch {
	case !ask.Needed && ask.Refused:
		return "nobody; a call that acts on a chat whose agent may do more than this one is refused"
	case !ask.Needed:
		return "nobody, unless a call acts on a chat whose agent may do more than this one"
	case ask.Refused:
		text = "nobody, and each call is refused, because a person would have to allow it and this chat's permission mode asks nobody"
	}
	if ask.Why != "" {
		text += ". " + reason(ask.Why)
	}
	return text
}

// A parameter is one of a tool, in the words of the tool's author.
type parameter struct {
	name     string
	kind     string // the JSON type; empty: not known
	purpose  string
	required bool
}

// text returns the parameter as Markdown.
func (p *parameter) text() string {
	var facts []string
	if p.kind != "" {
		facts = append(facts, mdtext.Literal(mdtext.Brief(p.kind, nameUnits)))
	}
	if p.required {
		facts = append(facts, "required")
	}
	text := mdtext.Code(mdtext.Brief(p.name, nameUnits))
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	if p.purpose != "" {
		text += ": " + mdtext.Literal(mdtext.Brief(p.purpose, purposeUnits))
	}
	return text
}

// parametersOf returns the parameters of a schema by name, those that are required first. Anybody may
// have written the schema: what cannot be read of it is left out.
func parametersOf(schema json.RawMessage) []parameter {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(schema, &s)
	var required, optional []parameter
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := parameter{
			name:     name,
			kind:     kindOf(s.Properties[name]),
			purpose:  purposeOf(s.Properties[name]),
			required: slices.Contains(s.Required, name),
		}
		if p.required {
			required = append(required, p)
		} else {
			optional = append(optional, p)
		}
	}
	return append(required, optional...)
}

// kindOf returns the type, or the types, of a property.
func kindOf(property json.RawMessage) string {
	var one struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(property, &one) == nil {
		return one.Type
	}
	var several struct {
		Type []string `json:"type"`
	}
	_ = json.Unmarshal(property, &several)
	return strings.Join(several.Type, " or ")
}

// purposeOf returns the description of a property.
func purposeOf(property json.RawMessage) string {
	var p struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal(property, &p)
	return p.Description
}
