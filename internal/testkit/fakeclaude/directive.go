package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A directive is one parsed line of a message; see the package comment.
type directive struct {
	name string
	n    int    // MS, N, CODE or STATUS; -1 when left out
	arg  string // TEXT, FILE, NAME, COMMAND or DIRECTIVE
}

// form says what follows a directive's word.
type form int

const (
	bare        form = iota
	text             // anything, not empty
	anything         // anything, or nothing
	number           // a number
	maybeNumber      // a number, or nothing
	numberText       // a number, then anything
	fileText         // a path without spaces, then anything
)

// A script is the form of a directive, and what its turn does.
type script struct {
	form form
	play func(t *turn, d directive)
}

// scripts are the directives. Two have no play: once guards another one, and vanish comes
// before the turn.
var scripts = map[string]script{
	"echo":    {text, says(func(_ *turn, d directive) string { return d.arg })},
	"prompt":  {bare, says(func(t *turn, _ directive) string { return t.text })},
	"size":    {bare, says(func(t *turn, _ directive) string { return fmt.Sprintf("text=%d", len(withoutPrefix(t.text))) })},
	"history": {bare, says(func(t *turn, _ directive) string { return t.history() })},
	"pid":     {bare, says(func(*turn, directive) string { return strconv.Itoa(os.Getpid()) })},
	"args":    {bare, says(func(t *turn, _ directive) string { return strings.TrimSpace(string(encode(t.s.args))) })},
	"session": {bare, says(func(t *turn, _ directive) string { return t.s.id })},
	"env": {text, says(func(t *turn, d directive) string {
		if v := t.s.getenv(d.arg); v != "" {
			return v
		}
		return "(unset)"
	})},
	"big": {number, says(func(_ *turn, d directive) string { return strings.Repeat("x", d.n) })},
	"events": {number, afterwards(func(t *turn, n int) {
		for range n {
			t.delta("x ")
		}
	})},
	"longline": {number, afterwards(func(t *turn, n int) {
		const head, tail = `{"type":"fake_bulk","data":"`, "\"}\n"
		t.s.write(t.s.stdout, head+strings.Repeat("x", max(0, n-len(head)-len(tail)))+tail)
	})},
	"stderr": {number, afterwards(func(t *turn, n int) {
		all := strings.Repeat(strings.Repeat("e", 99)+"\n", n/100+1)
		t.s.write(t.s.stderr, all[len(all)-n:])
	})},
	"rubbish": {bare, func(t *turn, _ directive) {
		t.s.write(t.s.stdout, "this is not JSON\n{\"type\":\"assistant\",\n\x00\xff\xfe\n\n[1,2]\n")
		t.answer("rubbish")
	}},

	"slow": {numberText, func(t *turn, d directive) { t.slow(d.ms(), d.arg) }},
	"wait": {text, func(t *turn, d directive) {
		if t.pauseForFile(d.arg) {
			t.answer("waited for " + d.arg)
		} else {
			t.aborted("")
		}
	}},
	"ticks":    {text, func(t *turn, d directive) { t.ticks(d.arg) }},
	"parts":    {fileText, func(t *turn, d directive) { t.parts(d.file()) }},
	"tool":     {numberText, func(t *turn, d directive) { t.tool(d.arg, func() bool { return t.pause(d.ms()) }) }},
	"toolwait": {text, func(t *turn, d directive) { t.toolWait(d.arg) }},
	"interim": {fileText, func(t *turn, d directive) {
		file, said := d.file()
		t.sayInPieces(said)
		t.toolWait(file)
	}},
	"edit": {numberText, func(t *turn, d directive) { t.edit(d.ms(), d.arg) }},
	"call": {fileText, func(t *turn, d directive) { t.call(d.file()) }},
	"mcp": {fileText, func(t *turn, d directive) {
		file, rest := d.file()
		name, input, _ := strings.Cut(rest, " ")
		t.callServer(file, name, input)
	}},
	"mcpsend":    {text, func(t *turn, d directive) { t.sendServer(d.arg) }},
	"tools":      {bare, says(func(t *turn, _ directive) string { return t.toolNames() })},
	"leave":      {numberText, func(t *turn, d directive) { t.tool(d.arg, func() bool { leave(); return t.pause(d.ms()) }) }},
	"background": {numberText, func(t *turn, d directive) { t.background(d.ms(), d.arg) }},

	"noresult":    {anything, func(t *turn, d directive) { t.noResult(d.arg) }},
	"apierror":    {number, func(t *turn, d directive) { t.apiError(d.n) }},
	"notloggedin": {bare, func(t *turn, _ directive) { t.failed("Not logged in · Please run /login", 0, "authentication_failed") }},
	"maxturns":    {maybeNumber, func(t *turn, d directive) { t.maxTurns(d.n) }},
	"resultdie": {number, func(t *turn, d directive) {
		last := "last words"
		t.say(last)
		t.record("completed")
		t.result(ending{result: &last})
		t.s.exit(d.n)
	}},
	"die":  {number, func(t *turn, d directive) { t.delta("dying"); t.s.exit(d.n) }},
	"once": {fileText, nil}, "vanish": {bare, nil},
	"kill": {bare, func(t *turn, _ directive) { t.delta("dying"); suicide() }},
	"mute": {bare, func(t *turn, _ directive) {
		t.deaf = true
		t.serve(nil, func() bool { return false })
	}},
}

// says is the play of a turn that is only a text.
func says(words func(*turn, directive) string) func(*turn, directive) {
	return func(t *turn, d directive) { t.answer(words(t, d)) }
}

// afterwards is the play of a turn that makes something and then says how much.
func afterwards(what func(t *turn, n int)) func(*turn, directive) {
	return func(t *turn, d directive) {
		what(t, d.n)
		t.answer(fmt.Sprintf("%s %d", d.name, d.n))
	}
}

func (d directive) ms() time.Duration { return time.Duration(d.n) * time.Millisecond }

// file returns the two arguments of a fileText.
func (d directive) file() (file, rest string) {
	file, rest, _ = strings.Cut(d.arg, " ")
	return file, rest
}

// findDirective returns the first directive among the lines of a message, or one named ""
// when there is none.
func findDirective(message string) directive {
	for line := range strings.Lines(message) {
		if d, ok := parseDirective(strings.TrimRight(line, "\r\n")); ok {
			return d
		}
	}
	return directive{}
}

func parseDirective(line string) (d directive, ok bool) {
	name, rest, _ := strings.Cut(line, " ")
	s, known := scripts[name]
	d = directive{name: name, n: -1, arg: rest}
	count := func(s string) bool {
		n, err := strconv.Atoi(s)
		d.n = n
		return err == nil && n >= 0
	}
	switch s.form {
	case bare:
		ok = rest == ""
	case text:
		ok = rest != ""
	case anything:
		ok = true
	case number:
		ok = count(rest)
	case maybeNumber:
		ok = rest == "" || count(rest)
	case numberText:
		var first string
		first, d.arg, _ = strings.Cut(rest, " ")
		ok = count(first)
	case fileText:
		file, _, found := strings.Cut(rest, " ")
		ok = found && file != ""
	}
	return d, ok && known
}

// once replaces a once directive by the one it guards, or by an echo.
func once(d directive) directive {
	for d.name == "once" {
		path, rest := d.file()
		if !created(path) {
			return directive{name: "echo", arg: "again"}
		}
		d, _ = parseDirective(rest)
	}
	return d
}

// created reports whether a file did not exist, and creates it.
func created(path string) bool {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// suicide ends the process as the kernel would for lack of memory.
func suicide() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // there is nobody left to tell
	select {}
}

// leave starts a process that neither the turn nor this program waits for, as a
// Bash call does that puts something in the background with setsid.
func leave() {
	cmd := exec.Command("sleep", "3600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() == nil { // else there is nothing to leave
		go func() { _ = cmd.Wait() }() // ends with the process, or this one
	}
}

// withoutPrefix removes the gateway's "[channel: …]" line, if there is one.
func withoutPrefix(message string) string {
	prefix, rest, found := strings.Cut(message, "\n")
	if !found || !strings.HasPrefix(prefix, "[channel: ") {
		return message
	}
	return strings.TrimPrefix(rest, "\n")
}

// history returns this session's user texts as a JSON array.
func (t *turn) history() string {
	texts := []string{}
	for _, p := range t.s.history.prompts {
		texts = append(texts, textOf(p))
	}
	return string(bytes.TrimSpace(encode(texts)))
}

// slow streams a text in equal steps.
func (t *turn) slow(d time.Duration, text string) {
	const steps = 4
	said := ""
	for i := range steps {
		if !t.pause(d / steps) {
			t.aborted(said)
			return
		}
		word := fmt.Sprintf("w%d ", i)
		said += word
		t.delta(word)
	}
	t.delta(text)
	t.answerStreamed(said + text)
}

// sayInPieces says a text in a second or so.
func (t *turn) sayInPieces(text string) {
	const pieces = 8
	for from, i := 0, 1; i <= pieces && t.pause(time.Second/pieces); i++ {
		to := len(text) * i / pieces
		t.delta(text[from:to])
		from = to
	}
	t.sayStreamed(text)
}

// ticks counts aloud, a hundred numbers a second, until the file exists.
func (t *turn) ticks(file string) {
	said := ""
	for n := 1; ; n++ {
		if !t.pause(10 * time.Millisecond) {
			t.aborted(said)
			return
		}
		number := fmt.Sprintf("%d ", n)
		said += number
		t.delta(number)
		if _, err := os.Stat(file); err == nil {
			t.answerStreamed(fmt.Sprintf("ticked %d", n))
			return
		}
	}
}

// parts says several texts, and waits for the file after the first one.
func (t *turn) parts(file, count string) {
	n, _ := strconv.Atoi(count) // none of what is no number
	for i := range n {
		if i == 1 && !t.pauseForFile(file) {
			t.aborted("")
			return
		}
		text := strings.Repeat(string(rune('a'+i%26)), 10_000)
		t.delta(text)
		t.emitBlock(block{Type: "text", Text: text}, "", flaw{}) // not its last word
		t.closeStream(nil)
	}
	t.answer(fmt.Sprintf("%d parts", n))
}

// noResult ends the turn without a result, as a resend of an old uuid does.
func (t *turn) noResult(text string) {
	if text != "" {
		end := "end_turn"
		t.s.history.assistant(apiMessage{Content: []block{{Type: "text", Text: text}}, ID: "msg_fake", Model: t.s.model, Role: "assistant", StopReason: &end, Type: "message"}, flaw{})
	}
	t.record("completed")
	t.release("completed")
}

// toolWait is a turn of one Bash call that runs until the file exists.
func (t *turn) toolWait(file string) {
	t.tool("wait for "+file, func() bool { return t.pauseForFile(file) })
}

// call runs a turn of one call of any tool, which asks first, and a text that quotes
// with which input it was allowed, or why not.
func (t *turn) call(name, argument string) {
	input := json.RawMessage(argument)
	if !json.Valid(input) {
		input = json.RawMessage("{}")
	}
	id := t.callTool(name, input)
	d := t.ask(name, id, input, []object{})
	if t.stopped {
		t.toolAborted(id, rejected)
		return
	}
	outcome := d.Message
	if d.Behavior == "allow" {
		if d.UpdatedInput != nil {
			input = d.UpdatedInput
		}
		outcome = "allowed " + name + " " + string(input)
		t.s.note("tool", t.uuid, outcome)
	}
	t.toolResult(id, outcome, d.Behavior != "allow")
	t.answer("final: " + outcome + t.fold())
}

// edit changes a file, by its own account, and takes its time for that.
func (t *turn) edit(d time.Duration, file string) {
	id := t.callTool("Edit", bytes.TrimSpace(encode(object{"file_path": file, "old_string": "one\n", "new_string": "two\n"})))
	if !t.pause(d) {
		t.toolAborted(id, stoppedRunning)
		return
	}
	t.toolResult(id, "The file "+file+" has been updated.", false)
	t.answer("edited " + file)
}
