package messagesapi

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A scene is what a script works with.
type scene struct {
	*Standin
	turn
	req *request
}

// A scriptFunc makes the reply of one directive.
type scriptFunc func(scene) (reply, *apiError)

// script returns the function for the verb, nil for a word that is none.
func (d directive) script() scriptFunc {
	switch d.verb {
	case "echo":
		return scene.echo
	case "slow":
		return scene.slow
	case "gate":
		return scene.gate
	case "hang", "cut":
		return scene.broken
	case "tool", "tools":
		return scene.repeatTool
	case "error":
		return scene.fault
	case "usage":
		return scene.countedUsage
	case "history", "image", "size":
		return scene.report
	}
	return nil
}

// script makes the reply to a request.
func (s *Standin) script(r *request, t turn) (reply, *apiError) {
	if play := t.script(); play != nil {
		return play(scene{Standin: s, turn: t, req: r})
	}
	return say("ok: " + first(t.text, 200)), nil
}

// badDirective is the answer to a directive that makes no sense: a refusal that
// the CLI does not retry, so that the test shows it.
func (s scene) badDirective(why string) *apiError {
	return badRequest("API stand-in: directive %q with argument %q: %s", s.directive.String(), first(s.arg, 200), why)
}

func (s scene) echo() (reply, *apiError) { return say(s.arg), nil }

// slowStep is the pause between the words of slow.
const slowStep = 250 * time.Millisecond

func (s scene) slow() (reply, *apiError) {
	number, text, _ := strings.Cut(s.arg, " ")
	seconds, err := strconv.Atoi(number)
	if err != nil || seconds < 0 {
		return reply{}, s.badDirective("want seconds")
	}
	var pieces []piece
	for at := time.Duration(0); at < time.Duration(seconds)*time.Second; at += slowStep {
		pieces = append(pieces, piece{wait: pause(slowStep), text: fmt.Sprintf("w%d ", len(pieces))})
	}
	pieces = append(pieces, piece{text: cmp.Or(text, "done slow")})
	return reply{stop: "end_turn", blocks: []outBlock{textBlock(pieces...)}}, nil
}

func (s scene) gate() (reply, *apiError) {
	name, text, _ := strings.Cut(s.arg, " ")
	if text == "" {
		return reply{}, s.badDirective("want a name and a text")
	}
	wait := s.Standin.gate(name).wait
	half := first(text, (len(text)+1)/2)
	return reply{stop: "end_turn", blocks: []outBlock{textBlock(piece{text: half}, piece{wait: wait, text: text[len(half):]})}}, nil
}

// broken is a reply that does not come to its end.
func (s scene) broken() (reply, *apiError) {
	if s.verb == "hang" {
		return reply{ending: endHang}, nil
	}
	rep := say("half a sen")
	rep.ending = endCut
	return rep, nil
}

// fault is an API error, always or while its condition holds.
func (s scene) fault() (reply, *apiError) {
	number, condition, _ := strings.Cut(s.arg, " ")
	status, err := strconv.Atoi(number)
	if err != nil || status < 400 || status > 599 {
		return reply{}, s.badDirective("want an HTTP status from 400 to 599")
	}
	hit := true
	if model, ok := strings.CutPrefix(condition, "model="); ok {
		hit = s.req.Model == model
	} else if condition != "" {
		times, err := strconv.Atoi(strings.TrimPrefix(condition, "x"))
		if err != nil {
			return reply{}, s.badDirective("want xN or model=M after the status")
		}
		hit = s.tried(s.text) <= times
	}
	if hit {
		return reply{}, &apiError{status: status, message: "scripted error " + strconv.Itoa(status)}
	}
	return say("recovered"), nil
}

func (s scene) countedUsage() (reply, *apiError) {
	var rep reply
	var text string
	if _, err := fmt.Sscanf(s.arg, "%d %d %s", &rep.in, &rep.out, &text); err != nil {
		return reply{}, s.badDirective("want the numbers of input and output tokens, and a word")
	}
	said := say(text)
	said.in, said.out = rep.in, rep.out
	return said, nil
}

// report describes the request itself.
func (s scene) report() (reply, *apiError) {
	switch s.verb {
	case "history":
		return say(s.req.history()), nil
	case "image":
		types := s.req.images()
		return say(strings.TrimSuffix(fmt.Sprintf("%d image(s): %s", len(types), strings.Join(types, ", ")), ": ")), nil
	}
	return say(fmt.Sprintf("%d bytes", len(s.text))), nil
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
