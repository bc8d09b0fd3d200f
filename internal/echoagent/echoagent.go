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
	"os"
	"strings"

	"github.com/google/uuid"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/getclaude"
	"bareclaw/internal/humanize"
	"bareclaw/internal/plainjson"
)

// Model is the model's name in every event, by which the gateway recognises the echo agent.
const Model = "echo"

const lifecycleCapability = "msg_lifecycle_v1"

// quotedRunes bounds how much of a message is quoted back.
const quotedRunes = 300

const notice = `I am not Claude. Claude Code is not asked here (there is no "claude" on the PATH, or BARECLAW_AGENT=echo is set), so this is the built-in echo agent: it can only repeat what it was told.

To talk to Claude:
1. ` + getclaude.Installer + ` (or with Node 22 or newer: ` + getclaude.ByNpm + `)
2. run "claude" once in a terminal and log in
3. restart the gateway (set BARECLAW_AGENT=claude if it should never fall back to the echo agent)`

// agent is one run, used by a single goroutine.
type agent struct {
	session string
	out     io.Writer
	err     io.Writer
	results int
	failure error // the first failed write to out
}

// An event is a line for the gateway, in the form of the claude CLI.
type event map[string]any

// Run answers the lines of stdin until the end, and returns the exit code: 0, or 1 after a
// failure of stdin or stdout. Of claude's arguments only --session-id and --resume have a
// meaning. A line without meaning is skipped with a note on stderr. Run blocks and starts
// no goroutines.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &agent{session: sessionOf(args), out: stdout, err: stderr}
	in := bufio.NewReader(stdin)
	for a.failure == nil {
		line, err := in.ReadBytes('\n') // the session host bounds lines
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

func sessionOf(args []string) string {
	for i := 1; i < len(args); i++ {
		if flag := args[i-1]; (flag == "--session-id" || flag == "--resume") && uuid.Validate(args[i]) == nil {
			return args[i]
		}
	}
	return uuid.NewString()
}

func (a *agent) take(line []byte) {
	var in struct {
		Type    string `json:"type"`
		UUID    string `json:"uuid"`
		Message *struct {
			Content json.RawMessage `json:"content"` // a string or blocks
		} `json:"message"`
		RequestID string `json:"request_id"`
		Request   struct {
			Subtype string `json:"subtype"`
		} `json:"request"`
	}
	err := json.Unmarshal(line, &in)
	switch {
	case err != nil:
		a.note(fmt.Sprintf("a line was skipped: %v", err))
	case in.Type == "user" && in.Message == nil:
		a.note("a user message without a message was skipped")
	case in.Type == "user":
		a.turn(in.UUID, textOf(in.Message.Content))
	case in.Type == "control_request":
		a.control(in.RequestID, in.Request.Subtype)
	case in.Type != "control_response" && in.Type != "keep_alive": // which ask nothing
		a.note(fmt.Sprintf("a line of type %q was skipped", in.Type))
	}
}

func (a *agent) note(text string) { fmt.Fprintln(a.err, "echo agent:", text) }

func (a *agent) emit(e event) {
	e["session_id"], e["uuid"] = a.session, uuid.NewString()
	a.write(e)
}

// write writes a line, and nothing after a failure; Run then ends.
func (a *agent) write(e event) {
	if a.failure != nil {
		return
	}
	a.failure = plainjson.NewEncoder(a.out).Encode(e) // writes a line in one call
}

// turn answers one message at once, so no message waits in a queue.
func (a *agent) turn(id, text string) {
	cwd, err := os.Getwd()
	if err != nil {
		a.note(err.Error())
	}
	ids := []string{}
	lifecycle := func(states ...string) {
		for _, state := range states {
			if id != "" {
				a.emit(event{"type": "command_lifecycle", "command_uuid": id, "state": state})
			}
		}
	}
	if id != "" {
		ids = append(ids, id)
	}
	answer := reply(text)
	lifecycle("queued", "started")
	a.emit(event{ // "agent" is an addition to the CLI's event
		"type": "system", "subtype": "init", "cwd": cwd, "tools": []string{}, "mcp_servers": []string{}, "model": Model,
		"permissionMode": "default", "agent": "echo", "capabilities": []string{lifecycleCapability},
	})
	a.emit(event{"type": "assistant", "parent_tool_use_id": nil, "user_message_uuids": ids, "message": event{
		"id": "msg_" + uuid.NewString(), "type": "message", "role": "assistant", "model": Model, "content": []event{{"type": "text", "text": answer}},
	}})
	a.emit(event{
		"type": "result", "subtype": "success", "is_error": false, "result": answer, "terminal_reason": "completed", "stop_reason": "end_turn",
		"num_turns": 1, "total_cost_usd": 0, "duration_ms": 0, "user_message_uuids": ids, "result_index": a.results,
	})
	a.results++
	lifecycle("completed")
}

// control answers a control request. An interrupt always comes when idle.
func (a *agent) control(id, subtype string) {
	outcome := event{"subtype": "success", "request_id": id}
	switch subtype {
	case "initialize":
		outcome["response"] = event{
			"commands": []string{}, "models": []string{}, "agents": []string{}, "agent": "echo", "pid": os.Getpid(),
			"session_state": "idle", "capabilities": []string{lifecycleCapability},
		}
	case "interrupt":
		outcome["response"] = event{"still_queued": []string{}}
	default:
		outcome = event{"subtype": "error", "request_id": id, "error_code": "unsupported_request", "error": "Unsupported control request subtype: " + subtype}
	}
	a.write(event{"type": "control_response", "response": outcome})
}

// reply is the answer to any text. The line about the message's source is meant for claude.
func reply(text string) string {
	if first, rest, found := strings.Cut(text, "\n"); found && strings.HasPrefix(first, "[channel: ") && strings.HasSuffix(first, "]") {
		text = rest
	}
	text = humanize.Shorten(strings.TrimSpace(text), quotedRunes)
	if text == "" {
		return notice + "\n\nYour message had no text."
	}
	return notice + "\n\nYou said:\n> " + strings.ReplaceAll(text, "\n", "\n> ")
}

func textOf(content json.RawMessage) string {
	var whole string
	if json.Unmarshal(content, &whole) == nil {
		return whole
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
