package messagesapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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
		callsTool := verb == "tool" || verb == "tools"
		if scripts[verb] != nil && colon == callsTool && colon == (tool != "") {
			return directive{verb: verb, tool: tool, arg: arg}, true
		}
	}
	return directive{}, false
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

// read looks for the turn's text in one message and reports whether the search is over.
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

// A scene is what a script works with.
type scene struct {
	*Standin
	turn
	req *request
}

// A play writes a reply.
type play func(*Stream)

// scripts has a function for each verb, which makes the reply of a directive.
var scripts = map[string]func(scene) (play, *apiError){
	"echo": func(s scene) (play, *apiError) { return say(s.arg), nil },
	"slow": scene.slow, "gate": scene.gate, "hang": scene.hang, "tool": scene.call, "tools": scene.call, "calls": scene.calls, "error": scene.fault, "usage": scene.usage,
	"history": func(s scene) (play, *apiError) { return say(s.req.history()), nil },
	"image": func(s scene) (play, *apiError) {
		types := s.req.images()
		return say(strings.TrimSuffix(fmt.Sprintf("%d image(s): %s", len(types), strings.Join(types, ", ")), ": ")), nil
	},
	"size": func(s scene) (play, *apiError) { return say(fmt.Sprintf("%d bytes", len(s.text))), nil },
}

// script makes the reply to a request.
func (s *Standin) script(r *request, t turn) (play, *apiError) {
	if prepare := scripts[t.verb]; prepare != nil {
		return prepare(scene{Standin: s, turn: t, req: r})
	}
	return say("ok: " + first(t.text, 200)), nil
}

// say is a complete reply of one text.
func say(text string) play {
	return func(w *Stream) { w.Text(text); w.End("end_turn") }
}

// badDirective is the answer to a directive that makes no sense: a refusal that the CLI does
// not retry, so that the test shows it.
func (s scene) badDirective(why string) *apiError {
	return badRequest("API stand-in: directive %q with argument %q: %s", s.directive.String(), first(s.arg, 200), why)
}

func (s scene) slow() (play, *apiError) {
	number, text, _ := strings.Cut(s.arg, " ")
	seconds, err := strconv.Atoi(number)
	if err != nil {
		return nil, s.badDirective("want seconds")
	}
	return func(w *Stream) {
		for i := range seconds * 4 {
			w.pause(250 * time.Millisecond)
			w.Text(fmt.Sprintf("w%d ", i))
		}
		say(text)(w)
	}, nil
}

func (s scene) gate() (play, *apiError) {
	name, text, _ := strings.Cut(s.arg, " ")
	if text == "" {
		return nil, s.badDirective("want a name and a text")
	}
	g := s.Standin.gate(name)
	half := first(text, (len(text)+1)/2)
	return func(w *Stream) {
		w.Text(half)
		g.closeHeld()
		w.await(g.open)
		say(text[len(half):])(w)
	}, nil
}

func (scene) hang() (play, *apiError) {
	return func(w *Stream) {
		for w.begin(); w.err == nil; w.event("ping", nil) {
			w.pause(5 * time.Second)
		}
	}, nil
}

// fault is an API error, always or while its condition holds.
func (s scene) fault() (play, *apiError) {
	number, condition, _ := strings.Cut(s.arg, " ")
	status, err := strconv.Atoi(number)
	hit := true
	if model, ok := strings.CutPrefix(condition, "model="); ok {
		hit = s.req.Model == model
	} else if condition != "" && err == nil {
		var times int
		times, err = strconv.Atoi(strings.TrimPrefix(condition, "x"))
		hit = s.tried(s.text) <= times
	}
	switch {
	case err != nil || status < 400 || status > 599:
		return nil, s.badDirective("want an HTTP status from 400 to 599, and then perhaps xN or model=M")
	case hit:
		return nil, &apiError{status, "scripted error " + number}
	}
	return say("recovered"), nil
}

func (s scene) usage() (play, *apiError) {
	var in, out int
	var text string
	if _, err := fmt.Sscanf(s.arg, "%d %d %s", &in, &out, &text); err != nil {
		return nil, s.badDirective("want the numbers of input and output tokens, and a word")
	}
	return func(w *Stream) { w.in, w.out = in, out; say(text)(w) }, nil
}

// call is tool: and tools:. The text after the last call quotes the latest results.
func (s scene) call() (play, *apiError) {
	rounds, arg := 1, s.arg
	if s.verb == "tools" {
		number, rest, _ := strings.Cut(s.arg, " ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return nil, s.badDirective("want a number of calls")
		}
		rounds, arg = n, rest
	}
	if s.rounds >= rounds {
		return s.final(), nil
	}
	return s.useTool(s.tool, arg)
}

// calls makes the calls of a list, one per model request.
func (s scene) calls() (play, *apiError) {
	var list []struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal([]byte(s.arg), &list); err != nil || len(list) == 0 {
		return nil, s.badDirective("want a list of {tool, input}")
	}
	if s.rounds >= len(list) {
		return s.final(), nil
	}
	return s.useTool(list[s.rounds].Tool, string(list[s.rounds].Input))
}

// final ends a turn with calls.
func (s scene) final() play {
	return say(fmt.Sprintf("final after %d call(s): %s", s.rounds, first(strings.Join(s.req.toolResults(), "\n"), 300)))
}

// useTool calls a tool, whose name may be written in any case.
func (s scene) useTool(name, input string) (play, *apiError) {
	for _, offered := range s.req.toolNames() {
		if strings.EqualFold(offered, name) {
			name = offered
		}
	}
	switch isObject := strings.HasPrefix(input, "{") && json.Valid([]byte(input)); {
	case isObject:
	case strings.EqualFold(name, "bash"):
		input = Bash(input)
	default:
		return nil, s.badDirective("the input wants a JSON object")
	}
	id := s.nextID("toolu")
	return func(w *Stream) { w.Tool(id, name, input); w.End("tool_use") }, nil
}

// Bash returns the input of a Bash call.
func Bash(command string) string {
	b, _ := json.Marshal(map[string]string{"command": command, "description": "scripted call"}) // strings always marshal
	return string(b)
}

// first cuts s to at most n bytes, between characters.
func first(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
