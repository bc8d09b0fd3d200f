package main

import (
	"encoding/json"
	"fmt"
	"time"
)

// giveBack emits the replay of the turn's prompt, once, with the first frame
// of the reply.
func (t *turn) giveBack() {
	if t.replayed || t.origin != nil {
		return
	}
	t.replayed = true
	t.s.replay(t.content, t.uuid, now())
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
		"type": "message", "usage": usage{Input: 100, Output: 1, Tier: "standard"}}, "type": "message_start"})
	t.stream(object{"content_block": start, "index": 0, "type": "content_block_start"})
}

// closeStream ends the API message that was streamed, if one was. The real
// program emits the assistant event before this.
func (t *turn) closeStream(stop any) {
	if t.streamID == "" {
		return
	}
	t.stream(object{"index": 0, "type": "content_block_stop"})
	t.stream(object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "type": "message_delta", "usage": usage{Input: 100, Output: 10, Tier: "standard"}})
	t.stream(object{"type": "message_stop"})
	t.streamID = ""
}

func (t *turn) stream(event object) {
	t.s.emit(streamEvent{Type: "stream_event", Event: event, Session: t.s.id, UUID: newID(), Message: t.streamID})
}

// modelMessage is a message of one block as the API gives it when it is whole.
func (t *turn) modelMessage(b block, stop string) apiMessage {
	id := t.streamID
	if id == "" {
		id = "msg_fake" + newID()[:8]
	}
	m := apiMessage{Content: []block{b}, ID: id, Model: t.s.model, Role: "assistant", Type: "message", Usage: usage{Input: 100, Output: 10, Tier: "standard"}}
	if stop != "" {
		m.StopReason = &stop
	}
	return m
}

// emitBlock emits a finished block and records it. In the event the stop
// reason is still unknown; in the transcript it is not.
func (t *turn) emitBlock(m apiMessage, more assistantEvent) {
	t.giveBack()
	e := more
	e.Type, e.Message, e.Session, e.UUID, e.Timestamp = "assistant", m, t.s.id, newID(), now()
	e.Message.StopReason = nil
	if t.rounds == 0 {
		e.MessageUUIDs = t.uuids()
		e.MessageUUID = lastOf(e.MessageUUIDs)
	}
	t.rounds++
	t.s.history.assistant(e.UUID, m, more)
	t.s.emit(e)
}

func lastOf(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[len(ids)-1]
}

// say emits a text of the model as one block, streaming it first.
func (t *turn) say(text string) {
	t.s.partial(func() { t.delta(text) })
	t.sayStreamed(text)
}

// sayStreamed is say for a text whose deltas have been emitted.
func (t *turn) sayStreamed(text string) {
	t.emitBlock(t.modelMessage(block{Type: "text", Text: text}, "end_turn"), assistantEvent{RequestID: "req_fake" + newID()[:8]})
	t.closeStream("end_turn")
}

// answer ends the turn with a text.
func (t *turn) answer(text string) {
	t.say(text)
	t.end(ending{result: &text, stop: "end_turn"})
}

func (t *turn) answerStreamed(text string) {
	t.sayStreamed(text)
	t.end(ending{result: &text, stop: "end_turn"})
}

// ending is what distinguishes one result from another.
type ending struct {
	subtype string // "" is success
	isError bool
	reason  string // terminal_reason; "" is completed
	stop    string // stop_reason; "" is null
	result  *string
	errors  []string
	status  int // api_error_status
	state   string
	local   string // the slash command that was answered without the model
}

// end emits the result and releases the messages.
func (t *turn) end(e ending) {
	if e.state == "" {
		e.state = "completed"
	}
	t.record(e.state)
	t.releaseFolded(e.state)
	t.result(e)
	t.release(e.state)
}

// record writes down that the turn is over, before anybody is told: a reader
// who has seen the end finds it in the files.
func (t *turn) record(state string) {
	for _, m := range t.messages {
		t.s.log.note("ended", m.uuid, state)
	}
	t.s.history.turnEnded()
}

// releaseFolded tells that folded messages are done: before the result.
func (t *turn) releaseFolded(state string) {
	for _, m := range t.messages[t.own:] {
		t.s.lifecycle(m.uuid, state)
	}
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
	r := resultEvent{DurationAPI: time.Since(t.began).Milliseconds(), Session: s.id, Cost: s.cost,
		Usage:      usage{Input: 100, Output: 10, Tier: "standard"},
		ModelUsage: map[string]usedModel{s.model: {Input: 100 * (s.results + 1), Output: 10 * (s.results + 1), Cost: s.cost}},
		Since:      map[string]usedModel{s.model: {Input: 100, Output: 10, Cost: cost}},
		Denials:    append([]denial{}, t.denials...), Reason: e.reason, Origin: t.origin, IsError: e.isError, Turns: t.rounds,
		Subtype: e.subtype, Result: e.result, Errors: e.errors, LocalCommand: e.local, Type: "result",
		Duration: time.Since(t.began).Milliseconds(), UUID: newID(), MessageUUIDs: t.uuids(), Index: s.results}
	r.MessageUUID = lastOf(r.MessageUUIDs)
	if r.Subtype == "" {
		r.Subtype, r.APIStatus = "success", json.RawMessage("null")
	}
	if r.Reason == "" && e.local == "" {
		r.Reason = "completed"
	}
	if e.stop != "" {
		r.StopReason = &e.stop
	}
	if e.status != 0 {
		r.APIStatus = encode(e.status)
	}
	s.results++
	s.code = 0
	if e.isError {
		s.code = 1 // of the process, should stdin end now
	}
	s.emit(r)
}

// aborted ends a text turn that was stopped after it had said something.
func (t *turn) aborted(said string) {
	why := t.stopped
	if said != "" {
		t.emitBlock(t.modelMessage(block{Type: "text", Text: said}, ""), assistantEvent{Aborted: true})
	}
	t.giveBack()
	if why == stopNow {
		t.closeStream(nil)
		t.end(ending{reason: "aborted_streaming", result: &said, state: "cancelled"})
		return
	}
	t.note("[Request interrupted by user]")
	t.closeStream(nil)
	t.interrupted("aborted_streaming", "")
}

// note emits and records a synthetic user text.
func (t *turn) note(text string) {
	t.rounds++
	t.emitUser([]block{{Type: "text", Text: text}}, nil)
}

func (t *turn) emitUser(content []block, toolResult any) {
	e := userEvent{Type: "user", Message: chat{"user", content}, Session: t.s.id, UUID: newID(), Timestamp: now(), ToolResult: toolResult}
	t.s.history.user(e.UUID, content)
	t.s.emit(e)
}

func (t *turn) interrupted(reason, stop string) {
	shown := stop
	if shown == "" {
		shown = "null"
	}
	t.end(ending{subtype: "error_during_execution", isError: true, reason: reason, stop: stop, state: "cancelled",
		errors: []string{"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=" + shown}})
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
	m := t.modelMessage(block{Type: "text", Text: text}, "stop_sequence")
	m.Model = syntheticModel
	t.emitBlock(m, assistantEvent{Error: kind, IsAPIError: true, APIStatus: status})
	t.end(ending{isError: true, reason: "api_error", stop: "stop_sequence", result: &text, status: status, state: "cancelled"})
}

// maxTurns ends the turn at the limit of --max-turns. The real program goes on
// to serve stdin; a code asks for an exit all the same.
func (t *turn) maxTurns(code int) {
	input, _ := json.Marshal(bashInput{"true", "scripted call"})
	id := t.callTool("Bash", input)
	t.toolResult(id, "(Bash completed with no output)", false, nil)
	limit := max(t.s.maxTurns, 1)
	t.s.history.attach(object{"type": "max_turns_reached", "maxTurns": limit, "turnCount": limit + 1})
	t.end(ending{subtype: "error_max_turns", isError: true, reason: "max_turns", stop: "tool_use",
		errors: []string{fmt.Sprintf("Reached maximum number of turns (%d)", limit)}})
	if code >= 0 {
		t.s.exit(code)
	}
}
