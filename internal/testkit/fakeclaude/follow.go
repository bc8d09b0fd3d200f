package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// follow does what the directive says.
func (t *turn) follow(d directive) {
	ms := time.Duration(d.n) * time.Millisecond
	switch d.name {
	case "slow":
		t.slow(ms, d.arg)
	case "wait":
		if t.pauseForFile(d.arg) {
			t.answer("waited for " + d.arg)
		} else {
			t.aborted("")
		}
	case "ticks":
		t.ticks(d.arg)
	case "parts":
		file, count, _ := strings.Cut(d.arg, " ")
		n, _ := strconv.Atoi(count) // none of what is no number
		t.parts(file, n)
	case "tool":
		t.tool(d.arg, func() bool { return t.pause(ms) })
	case "interim":
		file, said, _ := strings.Cut(d.arg, " ")
		t.sayInPieces(said)
		t.tool("wait for "+file, func() bool { return t.pauseForFile(file) })
	case "edit":
		t.edit(ms, d.arg)
	case "call":
		name, input, _ := strings.Cut(d.arg, " ")
		if !json.Valid([]byte(input)) {
			input = "{}"
		}
		t.call(name, json.RawMessage(input))
	case "leave":
		t.tool(d.arg, func() bool { leave(); return t.pause(ms) })
	case "toolwait":
		t.tool("wait for "+d.arg, func() bool { return t.pauseForFile(d.arg) })
	case "background":
		t.background(ms, d.arg)
	case "noresult":
		t.noResult(d.arg)
	case "apierror":
		t.apiError(d.n)
	case "notloggedin":
		t.failed("Not logged in · Please run /login", 0, "authentication_failed")
	case "maxturns":
		t.maxTurns(d.n)
	case "resultdie":
		t.say("last words")
		t.record("completed")
		t.result(ending{result: ptr("last words")})
		t.s.exit(d.n)
	case "die":
		t.delta("dying")
		t.s.exit(d.n)
	case "kill":
		t.delta("dying")
		suicide()
	case "mute":
		t.deaf = true
		t.serve(nil, func() bool { return false })
	default:
		t.noise(d)
		t.answer(t.reply(d))
	}
}

// reply is the text of a turn that is only a text.
func (t *turn) reply(d directive) string {
	switch d.name {
	case "echo":
		return d.arg
	case "prompt":
		return t.text
	case "size":
		return fmt.Sprintf("text=%d", len(withoutPrefix(t.text)))
	case "history":
		return t.historyReport()
	case "pid":
		return strconv.Itoa(os.Getpid())
	case "args":
		return strings.TrimSpace(string(encode(t.s.args)))
	case "session":
		return t.s.id
	case "env":
		return t.envReport(d.arg)
	case "big":
		return strings.Repeat("x", d.n)
	case "events", "longline", "stderr":
		return fmt.Sprintf("%s %d", d.name, d.n)
	case "rubbish":
		return "rubbish"
	}
	return "ok: " + withoutPrefix(t.text)
}

// noise makes what some directives make before the reply.
func (t *turn) noise(d directive) {
	s := t.s
	write := func(what []byte) {
		if _, err := s.stdout.Write(what); err != nil {
			s.exit(exitBroken)
		}
	}
	switch d.name {
	case "events":
		for range d.n {
			t.delta("x ")
		}
	case "rubbish":
		write([]byte("this is not JSON\n{\"type\":\"assistant\",\n\x00\xff\xfe\n\n[1,2]\n"))
	case "longline":
		const head, tail = `{"type":"fake_bulk","data":"`, "\"}\n"
		write(append(append([]byte(head), bytes.Repeat([]byte("x"), max(0, d.n-len(head)-len(tail)))...), tail...))
	case "stderr":
		line := append(bytes.Repeat([]byte("e"), 99), '\n')
		for left := d.n; left > 0; left -= len(line) {
			if _, err := s.stderr.Write(line[max(0, len(line)-left):]); err != nil {
				s.exit(exitBroken)
			}
		}
	}
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
func (t *turn) parts(file string, n int) {
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
		t.s.history.assistant(apiMessage{Content: []block{{Type: "text", Text: text}}, ID: "msg_fake", Model: t.s.model, Role: "assistant", StopReason: ptr("end_turn"), Type: "message"}, flaw{})
	}
	t.record("completed")
	t.release("completed")
}
