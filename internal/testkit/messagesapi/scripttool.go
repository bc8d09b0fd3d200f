package messagesapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// maxCalls bounds the tool calls of one directive.
const maxCalls = 1000

// repeatTool is tool:, tools: and par:.
func (s scene) repeatTool() (reply, *apiError) {
	rounds, parallel, arg := 1, 1, s.arg
	if s.verb != "tool" {
		number, rest, _ := strings.Cut(s.arg, " ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > maxCalls {
			return reply{}, s.badDirective(fmt.Sprintf("want a number of calls from 1 to %d", maxCalls))
		}
		if arg = rest; s.verb == "par" {
			parallel = n
		} else {
			rounds = n
		}
	}
	if s.rounds >= rounds {
		return s.finish(), nil
	}
	input, err := toolInput(s.tool, arg)
	if err != nil {
		return reply{}, s.badDirective(err.Error())
	}
	rep := reply{stop: "tool_use"}
	for range parallel {
		rep.blocks = append(rep.blocks, s.call(s.tool, input))
	}
	return rep, nil
}

// sequence is seq: a list of calls, one per request.
func (s scene) sequence() (reply, *apiError) {
	var calls []struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal([]byte(s.arg), &calls); err != nil {
		return reply{}, s.badDirective(err.Error())
	}
	if s.rounds >= len(calls) {
		return s.finish(), nil
	}
	next := calls[s.rounds]
	if next.Name == "" || !strings.HasPrefix(string(next.Input), "{") {
		return reply{}, s.badDirective(`each call wants a "name" and an "input" object`)
	}
	return reply{stop: "tool_use", blocks: []outBlock{s.call(next.Name, string(next.Input))}}, nil
}

// structured is schema and schema-wrong. StructuredOutput is the tool the CLI
// offers when it was given --json-schema.
func (s scene) structured() (reply, *apiError) {
	if s.rounds > 0 && s.verb == "schema" {
		return s.finish(), nil
	}
	if !isObject(s.arg) {
		return reply{}, s.badDirective("want a JSON object")
	}
	return reply{stop: "tool_use", blocks: []outBlock{s.call("StructuredOutput", s.arg)}}, nil
}

// finish is the text after the last call. It quotes the latest results.
func (s scene) finish() reply {
	var results []string
	for _, r := range s.req.toolResults() {
		results = append(results, r.Text)
	}
	return say(fmt.Sprintf("final after %d call(s): %s", s.rounds, first(strings.Join(results, "\n"), 300)))
}

// call is one tool_use block, its input in two pieces as a real stream has it.
// A tool that was offered is found without regard to case.
func (s scene) call(name, input string) outBlock {
	for _, offered := range s.req.toolNames() {
		if strings.EqualFold(offered, name) {
			name = offered
		}
	}
	half := first(input, len(input)/2)
	return outBlock{kind: "tool_use", id: s.ids.next("toolu"), name: name, pieces: []piece{{text: half}, {text: input[len(half):]}}}
}

// toolInput is the JSON object for a tool's argument.
func toolInput(tool, arg string) (string, error) {
	if isObject(arg) {
		return arg, nil
	}
	input := map[string]string{}
	switch {
	case strings.EqualFold(tool, "bash") && arg != "":
		input["command"], input["description"] = arg, "scripted call"
	case strings.EqualFold(tool, "read") && arg != "":
		input["file_path"] = arg
	case arg != "":
		return "", fmt.Errorf("the input of %s wants a JSON object", tool)
	}
	b, err := json.Marshal(input)
	return string(b), err
}

func isObject(s string) bool {
	return strings.HasPrefix(strings.TrimSpace(s), "{") && json.Valid([]byte(s))
}
