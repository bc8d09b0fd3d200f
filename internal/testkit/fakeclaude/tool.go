package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// decision is the host's answer to can_use_tool.
type decision struct {
	Behavior     string          `json:"behavior"`
	Message      string          `json:"message"`
	UpdatedInput json.RawMessage `json:"updatedInput"`
}

func bashInput(command string) json.RawMessage {
	return bytes.TrimSpace(encode(ordered{"command", command, "description", "scripted call"}))
}

// modelTakes is how long the model thinks about a denial that nobody has made: it
// is what a SIGTERM that comes with the end of stdin has to be faster than.
const modelTakes = 200 * time.Millisecond

const (
	askPrefix = "ask "
	rejected  = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string " +
		"was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
	stoppedRunning = rejected + " Correction to the text above: this call was stopped while running, not refused before it ran. " +
		"It may have run in part or in full, and its changes may have been written."
)

// tool runs a turn of one Bash call: perhaps a question, the call, what was
// folded in meanwhile, and a text that quotes the outcome.
func (t *turn) tool(command string, work func() bool) {
	input := bashInput(command)
	id := t.callTool("Bash", input)
	d := decision{Behavior: "allow"}
	if strings.HasPrefix(command, askPrefix) {
		d = t.ask("Bash", id, input, []object{{"type": "addRules",
			"rules": []object{{"toolName": "Bash", "ruleContent": "ask *"}}, "behavior": "allow", "destination": "localSettings"}})
	}
	if t.stopped {
		t.toolAborted(id, rejected)
		return
	}
	outcome := d.Message
	if d.Behavior == "allow" {
		t.s.note("tool", t.uuid, command)
		if !work() {
			t.toolAborted(id, stoppedRunning)
			return
		}
		outcome = "ran: " + command
	}
	t.toolResult(id, outcome, d.Behavior != "allow")
	switch {
	case t.s.maxTurns == 1:
		t.endAtLimit("error_max_turns", "max_turns", "Reached maximum number of turns (1)")
	case t.overBudget():
		t.endAtLimit("error_max_budget_usd", "budget_exhausted", fmt.Sprintf("Reached maximum budget ($%g)", t.s.maxBudget))
	default:
		t.answer("final: " + outcome + t.fold())
	}
}

// callTool emits the model's call and returns its id.
func (t *turn) callTool(name string, input json.RawMessage) string {
	id := "toolu_fake" + newID()[:8]
	t.openStream(object{"id": id, "input": object{}, "name": name, "type": "tool_use"})
	t.stream(object{"delta": object{"partial_json": string(input), "type": "input_json_delta"}, "index": 0, "type": "content_block_delta"})
	t.emitBlock(block{Type: "tool_use", ID: id, Name: name, Input: input}, "tool_use", flaw{})
	t.closeStream("tool_use")
	return id
}

// ask asks the host for permission and waits for the answer. It is an empty one if the
// turn was stopped.
func (t *turn) ask(name, id string, input json.RawMessage, suggestions []object) decision {
	t.question = newID()
	t.s.emit(ordered{"type", "control_request", "request_id", t.question, "request", ordered{"subtype", "can_use_tool", "tool_name", name,
		"display_name", name, "input", input, "description", "scripted call", "permission_suggestions", suggestions, "tool_use_id", id}})
	t.serve(nil, func() bool { return t.decision != nil || t.s.lines == nil })
	switch {
	case t.decision != nil:
		d := *t.decision
		t.decision = nil
		return d
	case t.s.lines == nil:
		t.question = ""
		t.pause(modelTakes) // it is told of the denial
		return decision{Behavior: "deny", Message: "Tool permission request failed: AbortError: Tool permission stream closed before response received"}
	}
	t.withdraw() // already done by an interrupt from the host
	return decision{}
}

// withdraw takes back the pending question, if there is one.
func (t *turn) withdraw() {
	if t.question != "" {
		t.s.emit(ordered{"type", "control_cancel_request", "request_id", t.question})
		t.question = ""
	}
}

func (t *turn) toolResult(id, content string, isError bool) {
	t.emitUser([]block{{Type: "tool_result", ToolUseID: id, Content: content, IsError: &isError}})
}

// toolAborted ends the turn at a call that was refused or stopped.
func (t *turn) toolAborted(id, why string) {
	t.toolResult(id, why, true)
	t.rounds++
	t.note("[Request interrupted by user for tool use]")
	t.interrupted("aborted_tools")
}

// fold takes the waiting messages into this turn, as happens at every tool
// result, and returns what the final text says of them.
func (t *turn) fold() (remark string) {
	s := t.s
	stays := func(m *message) bool { return strings.HasPrefix(m.text, "/") }
	for _, m := range s.queue {
		if stays(m) {
			continue
		}
		s.known[m.uuid] = false
		s.replay(m)
		s.lifecycle(m.uuid, "started")
		s.note("begun", m.uuid, m.text)
		s.history.queued("remove", m.text)
		s.history.attach(object{"type": "queued_command", "prompt": m.text, "source_uuid": m.uuid, "commandMode": "prompt"})
		t.messages = append(t.messages, m)
		remark += "; noted: " + withoutPrefix(m.text)
	}
	s.queue = slices.DeleteFunc(s.queue, func(m *message) bool { return !stays(m) })
	return remark
}

// task is a background task of an ended turn.
type task struct {
	id, run string
	toolUse string
	text    string
	due     time.Time
}

// background ends the turn at once and leaves a task behind.
func (t *turn) background(d time.Duration, text string) {
	s := t.s
	b := task{id: "b" + newID()[:8], run: newID()[:13], text: text, due: time.Now().Add(d)}
	b.toolUse = t.callTool("Bash", bytes.TrimSpace(encode(object{"command": "background", "description": "scripted call", "run_in_background": true})))
	s.note("tool", t.uuid, "background")
	s.system("background_tasks_changed", "tasks", []object{{"task_id": b.id, "run_id": b.run, "task_type": "local_bash", "description": "scripted call"}})
	s.system("task_started", "task_id", b.id, "run_id", b.run, "tool_use_id", b.toolUse, "description", "scripted call", "is_backgrounded", true, "task_type", "local_bash")
	said := "Command running in background with ID: " + b.id
	t.toolResult(b.toolUse, said, false)
	s.tasks = append(s.tasks, b)
	slices.SortStableFunc(s.tasks, func(a, b task) int { return a.due.Compare(b.due) })
	t.answer("final: " + said + t.fold())
}

// finishTask reports the task that is due, in a turn of its own.
func (s *session) finishTask() {
	b := s.tasks[0]
	s.tasks = s.tasks[1:]
	s.system("task_updated", "task_id", b.id, "run_id", b.run, "patch", object{"status": "completed", "end_time": time.Now().UnixMilli()})
	s.system("task_notification", "task_id", b.id, "run_id", b.run, "tool_use_id", b.toolUse, "status", "completed", "output_file", "",
		"summary", `Background command "scripted call" completed (exit code 0)`)
	s.system("background_tasks_changed", "tasks", []string{})
	t := &turn{s: s, origin: object{"kind": "task-notification", "producer": "session-task", "runId": b.run}}
	s.turn = t
	defer func() { s.turn = nil }()
	s.announce()
	s.history.user(newID(), []block{{Type: "text", Text: "<task-notification>" + b.id + "</task-notification>"}})
	t.answer(b.text)
}
