package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// session is the whole program after start-up. One goroutine owns it: while a
// turn waits for anything it serves stdin itself (see turn.pause), so there is
// nothing to lock. The only other goroutine reads lines, and ends with stdin.
type session struct {
	flags
	args    []string
	getenv  func(string) string
	stdout  io.Writer
	stderr  io.Writer
	id      string
	cwd     string
	log     *journal
	history *transcript

	lines      <-chan []byte // nil once stdin has ended
	terminated chan os.Signal
	queue      []*message
	known      map[string]bool // uuids this process has taken, true while queued
	turn       *turn           // nil when idle
	tasks      []task          // background tasks, by due time
	noInit     bool            // initialize is never answered
	code       int             // the exit code at the end of stdin
	cost       float64
}

// exitTerminated is the exit code after SIGTERM.
const exitTerminated = 128 + int(syscall.SIGTERM)

// message is one user message; several may have been merged into it.
type message struct {
	uuid    string
	content json.RawMessage // a string or blocks, as it came
	text    string
}

// envelope is any line of stdin.
type envelope struct {
	Type      string          `json:"type"`
	UUID      string          `json:"uuid"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	Response  json.RawMessage `json:"response"`
	Message   struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

func newSession(f flags, args []string, getenv func(string) string, stdout, stderr io.Writer) (*session, error) {
	s := &session{flags: f, args: args, getenv: getenv, stdout: stdout, stderr: stderr,
		id: f.sessionID, known: map[string]bool{}, terminated: make(chan os.Signal, 1)}
	var err error
	if s.cwd, err = os.Getwd(); err != nil {
		return nil, fmt.Errorf("fakeclaude: find the working directory: %w", err)
	}
	config := getenv("CLAUDE_CONFIG_DIR")
	if getenv("FAKECLAUDE_NOTRANSCRIPT") != "" || f.forgets {
		config = ""
	}
	s.history, err = openTranscript(config, s.cwd, s.id, f.resumes, getenv("FAKECLAUDE_TRANSCRIPT") == "late")
	if err != nil {
		return nil, err
	}
	s.log, err = openJournal(getenv("FAKECLAUDE_LOG"), s.id)
	return s, err
}

// run serves stdin until it ends and everything taken from it is done.
func (s *session) run(stdin io.Reader) int {
	s.log.note("start", "", strings.Join(s.args, " "))
	signal.Ignore(syscall.SIGPIPE) // as Node does: a reader that is gone ends no process
	signal.Notify(s.terminated, syscall.SIGTERM)
	if err := s.startFault(); err != nil {
		fmt.Fprintln(s.stderr, err)
		s.exit(exitBroken)
	}
	s.lines = readLines(stdin)
	for s.lines != nil || len(s.tasks) > 0 || len(s.queue) > 0 {
		if s.nextTurn() {
			s.drain()
		} else {
			s.idle()
		}
	}
	s.log.note("exit", "", "")
	return s.code
}

// nextTurn runs what is due, if anything.
func (s *session) nextTurn() bool {
	if len(s.tasks) > 0 && !time.Now().Before(s.tasks[0].due) {
		s.finishTask()
		return true
	}
	if len(s.queue) == 0 {
		return false
	}
	s.runTurn(s.takeTurn())
	return true
}

// idle waits for one thing to happen between turns.
func (s *session) idle() {
	var due <-chan time.Time
	if len(s.tasks) > 0 {
		timer := time.NewTimer(time.Until(s.tasks[0].due))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case line, ok := <-s.lines:
		s.read(line, ok)
	case <-s.terminated:
		s.exit(exitTerminated)
	case <-due:
	}
}

// drain takes what has already arrived.
func (s *session) drain() {
	for s.lines != nil {
		select {
		case line, ok := <-s.lines:
			s.read(line, ok)
		default:
			return
		}
	}
}

// readLines gives the lines of r until it ends, and then closes the channel.
func readLines(r io.Reader) <-chan []byte {
	lines := make(chan []byte, 64)
	go func() {
		defer close(lines)
		in := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := in.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 {
				lines <- line
			}
			if err != nil {
				return // the end of stdin; a broken one is no different
			}
		}
	}()
	return lines
}

// read handles one line of stdin, or its end.
func (s *session) read(line []byte, ok bool) {
	if !ok {
		s.lines = nil
		return
	}
	var e envelope
	if err := json.Unmarshal(line, &e); err != nil {
		fmt.Fprintf(s.stderr, "Error parsing streaming input line (%d chars): SyntaxError\n", len(line))
		s.exit(1)
	}
	switch e.Type {
	case "user":
		s.take(e)
	case "control_request":
		s.control(e)
	case "control_response":
		s.answered(e.Response, line)
	}
}

// take queues a user message, unless its uuid is known already.
func (s *session) take(e envelope) {
	if e.Message.Role != "user" || e.UUID == "" {
		fmt.Fprintf(s.stderr, "Error: Expected message role 'user', got '%s', with the uuid %q\n", e.Message.Role, e.UUID)
		s.exit(1)
	}
	m := &message{uuid: e.UUID, content: e.Message.Content, text: textOf(e.Message.Content)}
	s.log.note("taken", m.uuid, m.text)
	if s.seen(m) {
		s.log.note("dropped", m.uuid, "")
		return
	}
	s.lifecycle(m.uuid, "queued")
	s.history.queued("enqueue", m.text)
	s.queue = append(s.queue, m)
}

// seen says whether a uuid was taken before, and then gives the message back
// as the real program does. A uuid of an earlier process is also completed.
func (s *session) seen(m *message) bool {
	queued, known := s.known[m.uuid]
	past := !known && !s.history.canRun(m.uuid)
	s.known[m.uuid] = !known && !past || queued
	if known && !queued || past {
		s.replay(m)
	}
	if past {
		s.lifecycle(m.uuid, "completed")
	}
	return known || past
}

// textOf returns the texts of a message's content, joined by newlines.
func textOf(content json.RawMessage) (text string) {
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []block
	_ = json.Unmarshal(content, &blocks) // no blocks: no text
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
