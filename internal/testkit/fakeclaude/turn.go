package main

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"
)

// turn is one run of the agent: the answer to one or more messages, or, with
// an origin and no messages, the report of a background task.
type turn struct {
	s          *session
	messages   []*message // own ones first, then those folded in
	own        int
	uuid       string // of the prompt in the transcript
	content    json.RawMessage
	text       string
	origin     object
	rounds     int
	replayed   bool      // the prompt has been given back
	deaf       bool      // interrupts are not noticed
	stopped    bool      // by an interrupt
	question   string    // the request id of a pending can_use_tool
	decision   *decision // its answer
	serverCall *int      // the message id of a running call of the host's server
	streamID   string    // the API message being streamed, "" when none is
}

// takeTurn takes the messages of the next turn out of the queue: all that
// wait, merged, except that a slash command runs alone.
func (s *session) takeTurn() []*message {
	alone := func(m *message) bool { return strings.HasPrefix(m.text, "/") }
	n := 1
	for n < len(s.queue) && !alone(s.queue[0]) && !alone(s.queue[n]) {
		n++
	}
	taken := s.queue[:n]
	s.queue = slices.Clone(s.queue[n:])
	for _, m := range taken {
		s.history.queued("dequeue", m.text)
		s.known[m.uuid] = false
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
		var more []json.RawMessage
		if json.Unmarshal(m.content, &text) == nil {
			texts = append(texts, text)
			more = []json.RawMessage{encode(block{Type: "text", Text: text})}
		} else {
			_ = json.Unmarshal(m.content, &more) // no blocks: nothing
		}
		blocks = append(blocks, more...)
	}
	if len(texts) == len(messages) {
		return encode(strings.Join(texts, "\n"))
	}
	return encode(blocks)
}

// runTurn runs one turn from "started" to the last lifecycle event.
func (s *session) runTurn(messages []*message) {
	last := len(messages) - 1
	t := &turn{s: s, messages: messages, own: len(messages), uuid: messages[last].uuid, content: merge(messages)}
	t.text = textOf(t.content)
	s.turn = t
	defer func() { s.turn = nil }()
	for _, m := range messages[:last] {
		s.replay(m)
	}
	for _, m := range messages {
		s.lifecycle(m.uuid, "started")
		s.note("begun", m.uuid, m.text)
	}
	if t.local() {
		return
	}
	d := once(findDirective(withoutPrefix(t.text)))
	s.announce()
	if d.name == "vanish" {
		suicide()
	}
	s.history.prompt(t.uuid, t.content, t.uuids()[:last])
	s.system("status", "status", "requesting")
	if script, ok := scripts[d.name]; ok {
		script.play(t, d)
	} else {
		t.answer("ok: " + withoutPrefix(t.text))
	}
}

// announce emits system/init.
func (s *session) announce() {
	s.system("init", "cwd", s.cwd, "tools", []string{"Task", "Bash", "Edit", "Read", "Write"}, "mcp_servers", []string{}, "model", s.model,
		"permissionMode", s.permissionMode, "slash_commands", []string{"clear", "compact", "context"}, "claude_code_version", version)
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
	for !t.stopped && !enough() {
		select {
		case <-timer:
			return true
		case line, ok := <-t.s.lines:
			t.s.read(line, ok)
		case <-t.s.terminated:
			t.s.exit(exitTerminated)
		}
	}
	return !t.stopped
}

// pauseForFile serves stdin until the file exists. The pause between two looks grows, so that
// many waiting processes leave a slow machine to the program under test.
func (t *turn) pauseForFile(path string) bool {
	const shortest, longest = 2 * time.Millisecond, 20 * time.Millisecond
	for poll := shortest; ; poll = min(2*poll, longest) {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return !t.stopped
		}
		if !t.pause(poll) {
			return false
		}
	}
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
		s.system("background_tasks_changed", "tasks", []string{})
		s.id = next
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
	t.end(ending{result: &reply})
	return true
}
