package messagesapi

import (
	"slices"
	"strings"
)

// A directive is one line of the language in the package comment.
type directive struct {
	verb string // "" if the text has none
	tool string // what follows the colon of tool: and tools:
	arg  string // the rest of the line
}

// String is the directive's first word.
func (d directive) String() string {
	if d.tool != "" {
		return d.verb + ":" + d.tool
	}
	return d.verb
}

// parseDirective returns the first directive in text.
func parseDirective(text string) (directive, bool) {
	for line := range strings.Lines(text) {
		word, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		verb, tool, colon := strings.Cut(word, ":")
		d := directive{verb: verb, tool: tool, arg: arg}
		if d.script() != nil && colon == d.callsTool() && colon == (tool != "") {
			return d, true
		}
	}
	return directive{}, false
}

// callsTool reports whether the verb takes the name of a tool.
func (d directive) callsTool() bool {
	return d.verb == "tool" || d.verb == "tools"
}

// A turn is what a request asks for.
type turn struct {
	directive
	text   string // the user text that has the directive, else the last one
	rounds int    // model replies with tool calls since that text
}

// findTurn reads the conversation backwards to the message that began the turn.
func findTurn(r *request) turn {
	var t turn
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "assistant" {
			if m.Content.has("tool_use") {
				t.rounds++
			}
			continue
		}
		if t.read(m) {
			return t
		}
	}
	return t
}

// read looks for the turn's text in one message and reports whether the search
// is over.
func (t *turn) read(m message) bool {
	for _, b := range slices.Backward(m.Content.of("text")) {
		if strings.HasPrefix(b.Text, interruptNote) {
			return true // all before it belongs to an older turn
		}
		text, ok := written(m.Role, b.Text)
		if !ok {
			continue
		}
		if d, ok := parseDirective(text); ok {
			t.directive, t.text = d, text
			return true
		}
		if t.text == "" && m.Role == "user" {
			t.text = text
		}
	}
	return t.text != "" && !m.Content.has("tool_result")
}
