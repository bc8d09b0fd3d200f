package messagesapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// repeatTool is tool: and tools:.
func (s scene) repeatTool() (reply, *apiError) {
	rounds, arg := 1, s.arg
	if s.verb == "tools" {
		number, rest, _ := strings.Cut(s.arg, " ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return reply{}, s.badDirective("want a number of calls")
		}
		rounds, arg = n, rest
	}
	if s.rounds >= rounds {
		return s.finish(), nil
	}
	input, err := toolInput(s.tool, arg)
	if err != nil {
		return reply{}, s.badDirective(err.Error())
	}
	return reply{stop: "tool_use", blocks: []outBlock{s.call(s.tool, input)}}, nil
}

// finish is the text after the last call. It quotes the latest results.
func (s scene) finish() reply {
	return say(fmt.Sprintf("final after %d call(s): %s", s.rounds, first(strings.Join(s.req.toolResults(), "\n"), 300)))
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
	return outBlock{kind: "tool_use", id: s.nextID("toolu"), name: name, pieces: []piece{{text: half}, {text: input[len(half):]}}}
}

// toolInput is the JSON object for a tool's argument.
func toolInput(tool, arg string) (string, error) {
	if json.Valid([]byte(arg)) && strings.HasPrefix(arg, "{") {
		return arg, nil
	}
	if !strings.EqualFold(tool, "bash") {
		return "", fmt.Errorf("the input of %s wants a JSON object", tool)
	}
	b, err := json.Marshal(map[string]string{"command": arg, "description": "scripted call"})
	return string(b), err
}
