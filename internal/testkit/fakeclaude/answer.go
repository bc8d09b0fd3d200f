package main

import (
	"cmp"
	"fmt"
)

// giveBack emits the replay of the turn's prompt, once, with the first frame
// of the reply.
func (t *turn) giveBack() {
	if t.replayed || t.origin != nil {
		return
	}
	t.replayed = true
	t.s.replay(&message{uuid: t.uuid, content: t.content})
}

// delta streams a piece of text.
func (t *turn) delta(text string) {
	if t.streamID == "" {
		t.openStream(object{"text": "", "type": "text"})
	}
	t.stream(object{"delta": object{"text": text, "type": "text_delta"}, "index": 0, "type": "content_block_delta"})
}

func (t *turn) openStream(start object) {
	t.giveBack()
	t.streamID = "msg_fake" + newID()[:8]
	t.stream(object{"message": object{"content": []string{}, "id": t.streamID, "model": t.s.model, "role": "assistant", "stop_reason": nil,
		"type": "message"}, "type": "message_start"})
	t.stream(object{"content_block": start, "index": 0, "type": "content_block_start"})
}

// closeStream ends the API message that was streamed, if one was. The real
// program emits the assistant event before this.
func (t *turn) closeStream(stop any) {
	if t.streamID == "" {
		return
	}
	t.stream(object{"index": 0, "type": "content_block_stop"})
	t.stream(object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "type": "message_delta"})
	t.stream(object{"type": "message_stop"})
	t.streamID = ""
}

func (t *turn) stream(event object) {
	t.s.emit(ordered{"type", "stream_event", "event", event, "session_id", t.s.id, "parent_tool_use_id", nil, "uuid", newID(), "api_message_id", t.streamID})
}

// emitBlock emits a finished block of the model and records it. In the event the stop
// reason is still unknown; in the transcript it is not.
func (t *turn) emitBlock(b block, stop string, f flaw) {
	t.giveBack()
	m := apiMessage{Content: []block{b}, ID: t.streamID, Model: t.s.model, Role: "assistant", Type: "message"}
	if m.ID == "" {
		m.ID = "msg_fake" + newID()[:8]
	}
	if f.kind != "" {
		m.Model = syntheticModel
	}
	t.rounds++
	e := ordered{"type", "assistant", "message", m, "parent_tool_use_id", nil, "session_id", t.s.id, "uuid", newID()}
	if f.kind != "" {
		e = append(e, "error", f.kind, "is_api_error_message", true, "api_error_status", f.status)
	}
	if f.aborted {
		e = append(e, "aborted", true)
	}
	if stop != "" {
		m.StopReason = &stop
	}
	t.s.history.assistant(m, f)
	t.s.emit(e)
}

// say emits a text of the model as one block, streaming it first.
func (t *turn) say(text string) {
	t.delta(text)
	t.sayStreamed(text)
}

// sayStreamed is say for a text whose deltas have been emitted.
func (t *turn) sayStreamed(text string) {
	t.emitBlock(block{Type: "text", Text: text}, "end_turn", flaw{})
	t.closeStream("end_turn")
}

// answer ends the turn with a text.
func (t *turn) answer(text string) {
	t.say(text)
	t.end(ending{result: &text})
}

func (t *turn) answerStreamed(text string) {
	t.sayStreamed(text)
	t.end(ending{result: &text})
}

// ending is what distinguishes one result from another.
type ending struct {
	subtype string // "" is success
	isError bool
	reason  string // terminal_reason; "" is completed
	result  *string
	errors  []string
	status  int // api_error_status
	state   string
}

// end emits the result and releases the messages.
func (t *turn) end(e ending) {
	e.state = cmp.Or(e.state, "completed")
	t.record(e.state)
	for _, m := range t.messages[t.own:] { // folded messages are done before the result
		t.s.lifecycle(m.uuid, e.state)
	}
	t.result(e)
	t.release(e.state)
}

// record writes down that the turn is over, before anybody is told: a reader
// who has seen the end finds it in the files.
func (t *turn) record(state string) {
	for _, m := range t.messages {
		t.s.note("ended", m.uuid, state)
	}
	t.s.history.turnEnded()
}

// release tells that the turn's own messages are done: after the result.
func (t *turn) release(state string) {
	for _, m := range t.messages[:t.own] {
		t.s.lifecycle(m.uuid, state)
	}
}

// cost is what a turn costs, in USD.
const cost = 0.01

// overBudget reports whether the process has spent its budget with the turn that runs. The
// real program looks only between two requests of a turn, and counts from its start.
func (t *turn) overBudget() bool {
	return t.s.maxBudget > 0 && t.s.cost+cost >= t.s.maxBudget
}

func (t *turn) result(e ending) {
	s := t.s
	s.cost += cost
	r := ordered{"session_id", s.id, "total_cost_usd", s.cost, "model_usage_since_last_result", map[string]any{s.model: object{"costUSD": cost}},
		"terminal_reason", cmp.Or(e.reason, "completed")}
	add := func(given bool, name string, value any) {
		if given {
			r = append(r, name, value)
		}
	}
	add(t.origin != nil, "origin", t.origin)
	add(e.status != 0, "api_error_status", e.status)
	add(e.result != nil, "result", e.result)
	add(e.errors != nil, "errors", e.errors)
	add(len(t.messages) > 0, "user_message_uuids", t.uuids())
	s.code = 0
	if e.isError {
		s.code = 1 // of the process, should stdin end now
	}
	s.emit(append(r, "is_error", e.isError, "num_turns", t.rounds, "subtype", cmp.Or(e.subtype, "success"), "type", "result", "uuid", newID()))
}

// aborted ends a text turn that was stopped after it had said something.
func (t *turn) aborted(said string) {
	if said != "" {
		t.emitBlock(block{Type: "text", Text: said}, "", flaw{aborted: true})
	}
	t.giveBack()
	t.note("[Request interrupted by user]")
	t.closeStream(nil)
	t.interrupted("aborted_streaming")
}

// note emits and records a synthetic user text.
func (t *turn) note(text string) {
	t.rounds++
	t.emitUser([]block{{Type: "text", Text: text}})
}

func (t *turn) emitUser(content []block) {
	id := newID()
	t.s.history.user(id, content)
	t.s.emit(ordered{"type", "user", "message", chat{"user", content}, "parent_tool_use_id", nil, "session_id", t.s.id, "uuid", id})
}

func (t *turn) interrupted(reason string) {
	t.end(ending{subtype: "error_during_execution", isError: true, reason: reason, state: "cancelled",
		errors: []string{"[ede_diagnostic] result_type=user last_content_type=n/a"}})
}

// apiError ends the turn as a refused API request does.
func (t *turn) apiError(status int) {
	kind, text := "unknown", fmt.Sprintf("API Error: %d scripted error %d", status, status)
	switch {
	case status == 401:
		kind, text = "authentication_failed", "Failed to authenticate. "+text
	case status == 429:
		kind = "rate_limit"
	case status >= 500:
		kind = "server_error"
	}
	t.failed(text, status, kind)
}

// failed ends the turn with a synthetic text: subtype success, is_error true.
// The messages end cancelled, as observed.
func (t *turn) failed(text string, status int, kind string) {
	t.emitBlock(block{Type: "text", Text: text}, "stop_sequence", flaw{kind: kind, status: status})
	t.end(ending{isError: true, reason: "api_error", result: &text, status: status, state: "cancelled"})
}

// maxTurns ends the turn at the limit of --max-turns. The real program goes on
// to serve stdin; a code asks for an exit all the same.
func (t *turn) maxTurns(code int) {
	id := t.callTool("Bash", bashInput("true"))
	t.toolResult(id, "(Bash completed with no output)", false)
	limit := max(t.s.maxTurns, 1)
	t.s.history.attach(object{"type": "max_turns_reached", "maxTurns": limit, "turnCount": limit + 1})
	t.endAtLimit("error_max_turns", "max_turns", fmt.Sprintf("Reached maximum number of turns (%d)", limit))
	if code >= 0 {
		t.s.exit(code)
	}
}

func (t *turn) endAtLimit(subtype, reason, why string) {
	t.end(ending{subtype: subtype, isError: true, reason: reason, errors: []string{why}})
}

// uuids are those of all messages of the turn.
func (t *turn) uuids() (ids []string) {
	for _, m := range t.messages {
		ids = append(ids, m.uuid)
	}
	return ids
}
