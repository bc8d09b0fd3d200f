package messagesapi

import (
	"fmt"
	"math"
	"slices"
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
	case "echo", "schema-text":
		return scene.echo
	case "think":
		return scene.think
	case "slow":
		return scene.slow
	case "delay":
		return scene.delay
	case "gate":
		return scene.gate
	case "hang", "cut", "streamerror":
		return scene.broken
	case "tool", "tools", "par":
		return scene.repeatTool
	case "seq":
		return scene.sequence
	case "schema", "schema-wrong":
		return scene.structured
	case "error":
		return scene.fault
	case "maxtokens":
		return scene.maxTokens
	case "refuse":
		return scene.refuse
	case "usage":
		return scene.countedUsage
	case "history", "toolnames", "sysprompt", "image", "size":
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

func (s scene) think() (reply, *apiError) {
	rep := say(s.arg)
	thinking := outBlock{kind: "thinking", pieces: []piece{{text: "thinking about it"}}}
	rep.blocks = slices.Insert(rep.blocks, 0, thinking)
	return rep, nil
}

func (s scene) slow() (reply, *apiError) {
	length, text, err := s.timed()
	if err != nil {
		return reply{}, err
	}
	step := s.opts.SlowStep
	var pieces []piece
	for at := time.Duration(0); at < length; at += step {
		pieces = append(pieces, piece{wait: pause(step), text: fmt.Sprintf("w%d ", len(pieces))})
	}
	pieces = append(pieces, piece{text: text})
	return reply{stop: "end_turn", blocks: []outBlock{textBlock(pieces...)}}, nil
}

func (s scene) delay() (reply, *apiError) {
	length, text, err := s.timed()
	rep := say(text)
	rep.wait = pause(length)
	return rep, err
}

// timed reads "SECONDS [TEXT]".
func (s scene) timed() (time.Duration, string, *apiError) {
	number, text, _ := strings.Cut(s.arg, " ")
	seconds, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > time.Hour.Seconds() {
		return 0, "", s.badDirective("want seconds from 0 to 3600")
	}
	if text == "" {
		text = "done " + s.verb
	}
	return time.Duration(seconds * float64(time.Second)), text, nil
}

func (s scene) gate() (reply, *apiError) {
	name, text, _ := strings.Cut(s.arg, " ")
	if name == "" {
		return reply{}, s.badDirective("want a name")
	}
	wait := s.gates.named(name).wait
	if text == "" {
		rep := say("released " + name)
		rep.wait = wait
		return rep, nil
	}
	half := first(text, (len(text)+1)/2)
	return reply{stop: "end_turn", blocks: []outBlock{textBlock(piece{text: half}, piece{wait: wait, text: text[len(half):]})}}, nil
}

// broken is a reply that does not come to its end.
func (s scene) broken() (reply, *apiError) {
	if s.verb == "hang" {
		return reply{ending: endHang}, nil
	}
	rep := say("half a sen")
	rep.ending, rep.errorType = endCut, s.arg
	if s.verb == "streamerror" {
		rep.ending = endError
		if s.arg == "" {
			rep.errorType = "overloaded_error"
		}
	}
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

func (s scene) maxTokens() (reply, *apiError) {
	rep := say(s.arg)
	rep.stop = "max_tokens"
	return rep, nil
}

func (s scene) refuse() (reply, *apiError) {
	rep := say("")
	rep.stop = "refusal"
	return rep, nil
}

func (s scene) countedUsage() (reply, *apiError) {
	fields := append(strings.SplitN(s.arg, " ", 3), "ok")
	if len(fields) < 3 {
		return reply{}, s.badDirective("want the numbers of input and output tokens")
	}
	in, errIn := strconv.Atoi(fields[0])
	out, errOut := strconv.Atoi(fields[1])
	if errIn != nil || errOut != nil || in < 1 || out < 0 {
		return reply{}, s.badDirective("want the numbers of input (at least 1) and output tokens")
	}
	rep := say(fields[2])
	rep.in, rep.out = in, out
	return rep, nil
}

// report describes the request itself.
func (s scene) report() (reply, *apiError) {
	switch s.verb {
	case "history":
		return say(s.req.history()), nil
	case "toolnames":
		return say(strings.Join(slices.Sorted(slices.Values(s.req.toolNames())), ",")), nil
	case "sysprompt":
		all := s.req.System.text("\n")
		return say(fmt.Sprintf("len=%d tail=%s", len(all), last(all, 300))), nil
	case "image":
		types := s.req.images()
		return say(strings.TrimSuffix(fmt.Sprintf("%d image(s): %s", len(types), strings.Join(types, ", ")), ": ")), nil
	}
	return say(fmt.Sprintf("%d bytes", len(s.text))), nil
}

// first and last cut s to at most n bytes, between characters.
func first(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func last(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}
