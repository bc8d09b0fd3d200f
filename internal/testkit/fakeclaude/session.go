package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
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
	journal *os.File // nil: nobody asked
	history *transcript

	lines      <-chan []byte // nil once stdin has ended
	terminated chan os.Signal
	queue      []*message
	known      map[string]bool // uuids this process has taken, true while queued
	turn       *turn           // nil when idle
	tasks      []task          // background tasks, by due time
	noInit     bool            // initialize is never answered
	mcp        mcpClient
	code       int // the exit code at the end of stdin
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
		return nil, err
	}
	s.mcp = mcpClient{s: s, waiting: map[string]func(mcpAnswer){}}
	config := getenv("CLAUDE_CONFIG_DIR")
	if getenv("FAKECLAUDE_NOTRANSCRIPT") != "" || f.forgets {
		config = ""
	}
	s.history, err = openTranscript(config, s.cwd, s.id, f.resumes, getenv("FAKECLAUDE_TRANSCRIPT") == "late")
	if path := getenv("FAKECLAUDE_LOG"); path != "" && err == nil {
		s.journal, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	return s, err
}

// note adds a line to the journal, which a test reads to prove what reached this program
// and what it did, across restarts: one JSON object, appended with a single write. Events:
// start, taken (a user message was read), dropped (its uuid was known), begun (it is part of
// a turn; a folded one too), tool (a tool ran), call and called (a tool of the host's server was
// asked for, and has answered), listed, unlisted and list_changed (that server's tools, no tools,
// and that they have changed), ended (the turn is over), exit. A killed process writes no exit.
func (s *session) note(event, uuid, text string) {
	if s.journal != nil {
		s.write(s.journal, string(encode(ordered{"time", time.Now(), "pid", os.Getpid(), "session", s.id, "event", event, "uuid", uuid, "text", text})))
	}
}

// write writes what is no event. The process ends if that cannot be.
func (s *session) write(to io.Writer, what string) {
	if _, err := io.WriteString(to, what); err != nil {
		os.Exit(exitBroken)
	}
}

// run serves stdin until it ends and everything taken from it is done.
func (s *session) run(stdin io.Reader) int {
	s.note("start", "", strings.Join(s.args, " "))
	signal.Ignore(syscall.SIGPIPE) // as Node does: a reader that is gone ends no process
	signal.Notify(s.terminated, syscall.SIGTERM)
	s.startFault()
	s.lines = readLines(stdin)
	for s.lines != nil || len(s.tasks) > 0 || len(s.queue) > 0 {
		if s.nextTurn() {
			s.drain()
		} else {
			s.idle()
		}
	}
	s.note("exit", "", "")
	return s.code
}

// startFault does what FAKECLAUDE_START asks for, unless FAKECLAUDE_START_ONCE
// names a file that exists.
func (s *session) startFault() {
	fault, arg, _ := strings.Cut(s.getenv("FAKECLAUDE_START"), ":")
	if guard := s.getenv("FAKECLAUDE_START_ONCE"); guard != "" && fault != "" && !created(guard) {
		return
	}
	n, _ := strconv.Atoi(arg) // 0 where there is none
	switch fault {
	case "":
	case "exit":
		fmt.Fprintln(s.stderr, "fakeclaude: told to exit at start")
		s.exit(n)
	case "hang":
		<-s.terminated // stdin is never read
		s.exit(exitTerminated)
	case "noinit":
		s.noInit = true
	case "rubbish":
		s.write(s.stdout, "Welcome to claude!\n{\"half\": \n")
	default:
		fmt.Fprintf(s.stderr, "fakeclaude: unknown FAKECLAUDE_START=%s\n", fault)
		s.exit(exitBroken)
	}
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
	s.note("taken", m.uuid, m.text)
	if s.seen(m) {
		s.note("dropped", m.uuid, "")
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
