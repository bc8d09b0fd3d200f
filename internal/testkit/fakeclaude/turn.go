package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// turn is one run of the agent: the answer to one or more messages, or, with
// an origin and no messages, the report of a background task.
type turn struct {
	s        *session
	messages []*message // own ones first, then those folded in
	own      int
	uuid     string // of the prompt in the transcript
	content  json.RawMessage
	text     string
	images   int
	origin   *origin
	began    time.Time
	rounds   int
	replayed bool // the prompt has been given back
	deaf     bool // interrupts are not noticed
	stopped  stopKind
	denials  []denial
	question string    // the request id of a pending can_use_tool
	decision *decision // its answer
	streamID string    // the API message being streamed, "" when none is
}

// stopKind says why a turn ends before its time.
type stopKind int

const (
	goOn          stopKind = iota
	stopNow                // a message with priority "now" waits
	stopInterrupt          // the host, or SIGINT
)

// stop ends the turn at its next pause.
func (t *turn) stop(why stopKind) {
	if !t.deaf {
		t.stopped = max(t.stopped, why)
	}
}

// takeTurn takes the messages of the next turn out of the queue: all that
// wait, merged, except that a slash command, a message without a query and one
// with a priority run alone.
func (s *session) takeTurn() []*message {
	alone := func(m *message) bool {
		return strings.HasPrefix(m.text, "/") || m.noQuery || m.first
	}
	n := 1
	for n < len(s.queue) && !alone(s.queue[0]) && !alone(s.queue[n]) {
		n++
	}
	taken := s.queue[:n]
	s.queue = append([]*message(nil), s.queue[n:]...)
	for _, m := range taken {
		s.history.queued("dequeue", m.text)
		if m.uuid != "" {
			s.known[m.uuid] = false
		}
	}
	return taken
}

// merge joins contents the way the real program does: texts by a newline,
// blocks one after the other.
func merge(messages []*message) json.RawMessage {
	if len(messages) == 1 {
		return messages[0].content
	}
	var texts []string
	var blocks []json.RawMessage
	for _, m := range messages {
		var text string
		if json.Unmarshal(m.content, &text) == nil {
			texts = append(texts, text)
			blocks = append(blocks, encode(block{Type: "text", Text: text}))
			continue
		}
		var more []json.RawMessage
		if json.Unmarshal(m.content, &more) == nil {
			blocks = append(blocks, more...)
		}
	}
	if len(texts) == len(messages) {
		return encode(strings.Join(texts, "\n"))
	}
	return encode(blocks)
}

// runTurn runs one turn from "started" to the last lifecycle event.
func (s *session) runTurn(messages []*message) {
	last := messages[len(messages)-1]
	t := &turn{s: s, messages: messages, own: len(messages), uuid: last.uuid, content: merge(messages), began: time.Now()}
	t.text, t.images = contentOf(t.content)
	if t.uuid == "" {
		t.uuid = newID()
	}
	s.turn = t
	defer func() { s.turn = nil }()
	for _, m := range messages[:len(messages)-1] {
		s.replay(m.content, m.uuid, "")
	}
	for _, m := range messages {
		s.lifecycle(m.uuid, "started")
		s.log.note("begun", m.uuid, m.text)
	}
	if t.local() {
		return
	}
	d := findDirective(withoutPrefix(t.text))
	d = once(d)
	s.announce()
	if d.name == "vanish" {
		suicide()
	}
	s.history.prompt(t.uuid, t.content, t.uuids()[:max(0, len(t.uuids())-1)])
	s.partial(func() { s.system("status", ordered{"status", "requesting", "user_message_uuids", t.uuids()}) })
	if last.noQuery {
		t.end(ending{result: ptr("")})
		return
	}
	t.follow(d)
}

// once replaces a once directive by the one it guards, or by an echo.
func once(d directive) directive {
	for d.name == "once" {
		path, rest, _ := strings.Cut(d.arg, " ")
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

// announce emits system/init.
func (s *session) announce() {
	s.emit(initEvent{Type: "system", Subtype: "init", CWD: s.cwd, Session: s.id, Tools: []string{"Task", "Bash", "Edit", "Read", "Write"},
		MCPServers: []string{}, Model: s.model, PermissionMode: s.permissionMode, SlashCommands: []string{"clear", "compact", "context"},
		APIKeySource: "none", Version: version, OutputStyle: "default",
		Capabilities: []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1"}, UUID: newID()})
}

// partial does something only with --include-partial-messages.
func (s *session) partial(do func()) {
	if s.flags.partial {
		do()
	}
}

// uuids are those of all messages of the turn that have one.
func (t *turn) uuids() []string {
	var ids []string
	for _, m := range t.messages {
		if m.uuid != "" {
			ids = append(ids, m.uuid)
		}
	}
	return ids
}

// pause serves stdin for d and reports whether the turn goes on.
func (t *turn) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	return t.serve(timer.C, func() bool { return false })
}

// serve serves stdin until the timer fires or the condition holds, and reports
// whether the turn goes on.
func (t *turn) serve(timer <-chan time.Time, enough func() bool) bool {
	for t.stopped == goOn && !enough() {
		select {
		case <-timer:
			return true
		case line, ok := <-t.s.lines:
			t.s.read(line, ok)
		case sig := <-t.s.signals:
			t.s.signalled(sig)
		}
	}
	return t.stopped == goOn
}

// pauseForFile serves stdin until the file exists.
func (t *turn) pauseForFile(path string) bool {
	const poll = 2 * time.Millisecond
	for {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return t.stopped == goOn
		}
		if !t.pause(poll) {
			return false
		}
	}
}

// suicide ends the process as the kernel would for lack of memory.
func suicide() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // there is nobody left to tell
	select {}
}

// local answers slash commands that need no model, and reports whether it did.
func (t *turn) local() bool {
	s := t.s
	command, _, _ := strings.Cut(strings.TrimPrefix(t.text, "/"), " ")
	if !strings.HasPrefix(t.text, "/") {
		return false
	}
	reply := ""
	switch command {
	case "clear":
		next := newID()
		conversation := newID()
		s.emit(ordered{"type", "conversation_reset", "new_conversation_id", conversation, "uuid", conversation, "trigger", "clear",
			"user_message_uuid", t.uuid, "session_id", s.id})
		s.system("background_tasks_changed", ordered{"tasks", []string{}})
		s.id, s.log.session = next, next
		s.history = s.history.fresh(next)
		s.announce()
		t.content = encode("<command-name>/clear</command-name>\n            <command-message>clear</command-message>\n            <command-args></command-args>")
		s.history.prompt(t.uuid, t.content, nil)
		s.history.prompts = nil
	case "context", "compact":
		s.announce()
		reply = "fakeclaude has no " + command + " to speak of."
	default:
		return false
	}
	t.giveBack()
	t.end(ending{result: &reply, local: command})
	return true
}

// sizeReport is what the size directive answers.
func (t *turn) sizeReport() string {
	return fmt.Sprintf("text=%d images=%d", len(withoutPrefix(t.text)), t.images)
}

// historyReport is what the history directive answers.
func (t *turn) historyReport() string {
	texts := []string{}
	for _, p := range t.s.history.prompts {
		text, _ := contentOf(p)
		texts = append(texts, text)
	}
	return strings.TrimSpace(string(encode(texts)))
}

func (t *turn) envReport(name string) string {
	if v := t.s.getenv(name); v != "" {
		return v
	}
	return "(unset)"
}

func pidReport() string { return strconv.Itoa(os.Getpid()) }
