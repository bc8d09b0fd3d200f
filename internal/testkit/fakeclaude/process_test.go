package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// runAsProgram in the environment makes the test binary the program itself.
const runAsProgram = "FAKECLAUDE_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(runAsProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// patience bounds every wait of a test; only a broken program reaches it.
const patience = 30 * time.Second

const sid = "11111111-1111-4111-8111-111111111111"

// event is what the tests look at in any line of stdout.
type event struct {
	Type         string          `json:"type"`
	Subtype      string          `json:"subtype"`
	State        string          `json:"state"`
	Command      string          `json:"command_uuid"`
	Session      string          `json:"session_id"`
	UUID         string          `json:"uuid"`
	IsReplay     bool            `json:"isReplay"`
	Aborted      bool            `json:"aborted"`
	IsError      bool            `json:"is_error"`
	Result       *string         `json:"result"`
	Errors       []string        `json:"errors"`
	Reason       string          `json:"terminal_reason"`
	MessageUUIDs []string        `json:"user_message_uuids"`
	Origin       json.RawMessage `json:"origin"`
	Denials      []denial        `json:"permission_denials"`
	APIStatus    json.RawMessage `json:"api_error_status"`
	RequestID    string          `json:"request_id"`
	NewID        string          `json:"new_conversation_id"`
	Message      struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Response struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
	} `json:"response"`
	raw string
}

// shape names an event for comparisons.
func (e event) shape() string {
	switch {
	case e.Type == "command_lifecycle":
		return e.State + " " + short(e.Command)
	case e.IsReplay:
		return "replay " + short(e.UUID)
	case e.Aborted:
		return "assistant aborted"
	case e.Type == "system" || e.Type == "result":
		return e.Type + " " + e.Subtype
	}
	return e.Type
}

func (e event) is(shape string) bool { return e.shape() == shape }

// short is the last character of an id made by msgID.
func short(id string) string { return id[max(0, len(id)-1):] }

func msgID(n byte) string { return "aaaaaaaa-0000-4000-8000-00000000000" + string('0'+n) }

// claude is a running program.
type claude struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	events chan event // closed at the end of stdout
	seen   []event
	stderr syncBuffer
	dir    string
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start runs the program in dir, which is also its config directory.
func start(t *testing.T, dir string, env []string, args ...string) *claude {
	t.Helper()
	args = append([]string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--replay-user-messages", "--permission-prompt-tool", "stdio", "--allowedTools", "Read", "Edit"}, args...)
	c := &claude{t: t, cmd: exec.Command(os.Args[0], args...), events: make(chan event, 1024), dir: dir}
	c.cmd.Dir = dir
	c.cmd.Env = append([]string{runAsProgram + "=1", "CLAUDE_CONFIG_DIR=" + dir, "FAKECLAUDE_LOG=" + filepath.Join(dir, "log")}, env...)
	c.cmd.Stderr = &c.stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with stdout
		defer close(c.events)
		in := bufio.NewReader(stdout)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			e := event{raw: strings.TrimSpace(line)}
			if json.Unmarshal([]byte(line), &e) != nil {
				e.Type = "rubbish"
			}
			c.events <- e
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // most have ended
		for range c.events {
		}
		_ = c.cmd.Wait() // fails where a test has waited itself
	})
	return c
}

func (c *claude) line(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, line+"\n"); err != nil {
		c.t.Fatalf("write stdin: %v; stderr: %s", err, c.stderr.String())
	}
}

// send sends a text as the message with that number.
func (c *claude) send(n byte, text string) {
	c.t.Helper()
	c.sendWith(n, text, nil)
}

func (c *claude) sendWith(n byte, content any, more map[string]any) {
	c.t.Helper()
	m := map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": content}, "uuid": msgID(n), "parent_tool_use_id": nil}
	for k, v := range more {
		m[k] = v
	}
	line, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.line(string(line))
}

func (c *claude) control(id, request string) {
	c.t.Helper()
	c.line(`{"type":"control_request","request_id":"` + id + `","request":` + request + `}`)
}

// next returns the next event that has one of the shapes.
func (c *claude) next(shapes ...string) event {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e, ok := <-c.events:
			if !ok {
				c.t.Fatalf("stdout ended before %q; stderr: %s", shapes, c.stderr.String())
			}
			c.seen = append(c.seen, e)
			if slices.ContainsFunc(shapes, e.is) {
				return e
			}
		case <-timeout:
			c.t.Fatalf("no %q; saw %q; stderr: %s", shapes, c.shapes(), c.stderr.String())
		}
	}
}

// shapes are those of the events since the last call.
func (c *claude) shapes() (shapes []string) {
	for _, e := range c.seen {
		shapes = append(shapes, e.shape())
	}
	c.seen = nil
	return shapes
}

// ask sends a message and returns its result's text.
func (c *claude) ask(n byte, text string) string {
	c.t.Helper()
	c.send(n, text)
	r := c.next("result success")
	c.next("completed " + short(msgID(n)))
	return *r.Result
}

// exit closes stdin and returns the exit code.
func (c *claude) exit() int {
	c.t.Helper()
	if err := c.stdin.Close(); err != nil {
		c.t.Fatal(err)
	}
	return c.wait()
}

// wait returns the exit code, or -1 after a signal.
func (c *claude) wait() int {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e, ok := <-c.events:
			if !ok {
				_ = c.cmd.Wait() // the state says more
				return c.cmd.ProcessState.ExitCode()
			}
			c.seen = append(c.seen, e)
		case <-timeout:
			c.t.Fatalf("no exit; saw %q; stderr: %s", c.shapes(), c.stderr.String())
		}
	}
}

// journalOf returns "EVENT N" for each line of the journal that has a uuid.
func journalOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var l journalLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l.UUID != "" {
			lines = append(lines, l.Event+" "+short(l.UUID))
		}
	}
	return lines
}

func check(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
