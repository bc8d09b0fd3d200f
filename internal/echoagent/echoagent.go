// Package echoagent is the agent of a machine without claude: the gateway still starts and
// answers. Every answer names the echo agent as its author, the way to install claude, and
// the question. The agent never pretends to understand.
//
// The agent speaks the gateway's part of the claude CLI's stream-JSON protocol on stdin and
// stdout: control requests (initialize, interrupt; others are refused), user messages with
// lifecycle events, system/init, assistant and result. The agent keeps no history and runs no
// tools. A hidden subcommand runs the agent in place of claude, with claude's arguments.
package echoagent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"bareclaw/internal/exitcode"
)

// Model is the model's name in every event, by which the gateway recognises the echo agent.
const Model = "echo"

// maxLineBytes bounds a line of stdin. A longer line is skipped.
const maxLineBytes = 64 << 20

// agent is one run, used by a single goroutine.
type agent struct {
	session string
	out     io.Writer
	err     io.Writer
	results int
	failure error // the first failed write to out
}

// Run answers the lines of stdin until the end, and returns the exit code: 0, or 1 after a
// failure of stdin or stdout. Of claude's arguments only --session-id and --resume have a
// meaning. A line without meaning is skipped with a note on stderr. Run blocks and starts
// no goroutines.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &agent{session: sessionOf(args), out: stdout, err: stderr}
	in := bufio.NewReader(stdin)
	for a.failure == nil {
		line, err := readLine(in, maxLineBytes)
		if errors.Is(err, errTooLong) {
			a.note(err.Error())
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			a.take(line)
		}
		if errors.Is(err, io.EOF) {
			return exitcode.OK
		}
		if err != nil {
			a.note(fmt.Sprintf("read stdin: %v", err))
			return exitcode.Failed
		}
	}
	a.note(fmt.Sprintf("write stdout: %v", a.failure))
	return exitcode.Failed
}

// sessionOf returns the session id of the arguments, or a new id.
func sessionOf(args []string) string {
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if name != "--session-id" && name != "--resume" {
			continue
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		if uuid.Validate(value) == nil {
			return value
		}
	}
	return uuid.NewString()
}

var errTooLong = errors.New("a line that was too long was skipped")

// readLine reads up to a newline or the end. It returns errTooLong after a line of more
// than limit bytes.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > limit; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case tooLong && err == nil:
			return nil, errTooLong
		default:
			return line, err
		}
	}
}

// incoming is any line of stdin.
type incoming struct {
	Type      string  `json:"type"`
	UUID      string  `json:"uuid"`
	Message   *prompt `json:"message"`
	RequestID string  `json:"request_id"`
	Request   struct {
		Subtype string `json:"subtype"`
	} `json:"request"`
}

func (a *agent) take(line []byte) {
	var in incoming
	if err := json.Unmarshal(line, &in); err != nil {
		a.note(fmt.Sprintf("a line was skipped: %v", err))
		return
	}
	switch in.Type {
	case "user":
		if in.Message == nil {
			a.note("a user message without a message was skipped")
			return
		}
		a.turn(in.UUID, in.Message.text())
	case "control_request":
		a.control(in.RequestID, in.Request.Subtype)
	case "control_response", "keep_alive": // nothing was asked
	default:
		a.note(fmt.Sprintf("a line of type %q was skipped", in.Type))
	}
}

func (a *agent) note(text string) {
	fmt.Fprintln(a.err, "echo agent:", text)
}

// emit writes an event of the session.
func (a *agent) emit(e event) {
	e["session_id"], e["uuid"] = a.session, uuid.NewString()
	a.write(e)
}

// write writes a line, and nothing after a failure; Run then ends.
func (a *agent) write(e event) {
	if a.failure != nil {
		return
	}
	enc := json.NewEncoder(a.out) // writes a line in one call
	enc.SetEscapeHTML(false)
	a.failure = enc.Encode(e)
}
