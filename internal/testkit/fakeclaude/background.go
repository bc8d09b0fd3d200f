package main

import (
	"encoding/json"
	"slices"
	"time"
)

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
	input, _ := json.Marshal(object{"command": "background", "description": "scripted call", "run_in_background": true}) // always marshals
	b.toolUse = t.callTool("Bash", input)
	s.log.note("tool", t.uuid, "background")
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
