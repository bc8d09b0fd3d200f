package lanes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"bareclaw/core"
)

// A fakeHost is a process that holds one agent. Tests play the agent through it:
// begin, tool, result, done and so on. Its fields are guarded by the agent's mu.
type fakeHost struct {
	a      *fakeAgent
	key    core.ChannelKey
	launch core.Launch
	pid    int

	changed    *sync.Cond
	log        []core.Event // not acknowledged
	next       uint64
	acked      uint64
	working    []core.TurnID // begun and not done with, as far as is acknowledged
	client     *fakeSession
	turns      []core.TurnID
	started    []core.TurnID
	saidAt     map[uint64]time.Time
	ids        []string // the conversation went on under
	requests   []core.Request
	tasks      int
	answers    map[string]core.Answer
	calls      []core.ToolRequest
	responses  map[string]string // by the call's id
	interrupts int
	ready      bool
	exited     bool
	ended      bool
	stopped    core.StopMode    // how it was asked to end
	deaf       bool             // does not end when it is stopped
	keeps      bool             // acknowledgements are lost
	outdated   bool             // it was started by another program
	turn       chan core.TurnID // what is handed over, for scripts
	stop       chan struct{}
	gone       chan struct{} // closed when ended
}

func (h *fakeHost) connectLocked(by *life) *fakeSession {
	if h.client != nil {
		h.client.cutLocked()
	}
	s := &fakeSession{h: h, life: by, events: make(chan *core.Batch, 1), quit: make(chan struct{}), info: core.SessionInfo{
		SessionID: h.launch.SessionID, HostPID: h.pid, AgentPID: 1000 + h.pid, Ready: h.ready, Said: h.next, Replays: h.next > h.acked, Stale: h.outdated,
		Turns: slices.Clone(h.turns), Working: slices.Clone(h.working), Requests: slices.Clone(h.requests), Calls: slices.Clone(h.calls), Tasks: make([]string, h.tasks), Settings: h.launch.Settings.Fingerprint(),
	}}
	h.client = s
	go s.pump(h.acked) // ends with the connection or the host
	return s
}

func (h *fakeHost) sayLocked(ev core.Event) {
	if h.ended || h.exited && ev.Kind != core.Exited {
		return
	}
	if ev.Kind == core.SessionNew {
		h.ids = append(h.ids, ev.SessionID)
	}
	h.next++
	ev.Seq, ev.At = h.next, time.Now()
	h.log = append(h.log, ev)
	h.saidAt[ev.Seq] = time.Now()
	h.changed.Broadcast()
}

func (h *fakeHost) say(ev core.Event) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.sayLocked(ev)
}

// exit ends the agent; its host stays until the end is acknowledged.
func (h *fakeHost) exit(e core.Exit) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.exitLocked(e)
}

func (h *fakeHost) exitLocked(e core.Exit) {
	if h.exited || h.ended {
		return
	}
	h.sayLocked(core.Event{Kind: core.Exited, Type: "exit", Exit: &e})
	h.exited, h.requests, h.calls = true, nil, nil
	close(h.stop)
}

// die ends the host at once, as kill -9 does: nothing more is heard of it.
func (h *fakeHost) die() {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.endLocked()
}

func (h *fakeHost) endLocked() {
	if h.ended {
		return
	}
	if !h.exited {
		h.exited = true
		close(h.stop)
	}
	h.ended = true
	close(h.gone)
	if h.a.hosts[h.key] == h {
		delete(h.a.hosts, h.key)
	}
	h.changed.Broadcast()
}

// deafen makes the host ignore that it is to stop.
func (h *fakeHost) deafen() {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.deaf = true
}

// loseAcks has acknowledgements be lost, or not any more.
func (h *fakeHost) loseAcks(lose bool) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.keeps = lose
}

// cut breaks the connection, nothing else.
func (h *fakeHost) cut() {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	if h.client != nil {
		h.client.cutLocked()
	}
}

// waits reports whether the host's process runs on.
func (h *fakeHost) alive() bool {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return !h.ended
}

// kept returns how many events are not acknowledged.
func (h *fakeHost) kept() int {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return len(h.log)
}

// interrupted returns how often the agent was interrupted.
func (h *fakeHost) interrupted() int {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return h.interrupts
}

// gentle reports whether the host was asked gently to end.
func (h *fakeHost) gentle() bool {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return h.stopped == core.StopGently
}

// handed returns the turns that were handed over, oldest first.
func (h *fakeHost) handed() []core.TurnID {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return slices.Clone(h.turns)
}

// ready reports that the agent has started.
func (h *fakeHost) becomeReady() {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.readyLocked()
}

func (h *fakeHost) readyLocked() {
	h.ready = true
	h.sayLocked(core.Event{Kind: core.Readied, Type: "ready"})
}

// begin has the agent take up a turn.
func (h *fakeHost) begin(id core.TurnID) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.beginLocked(id)
}

func (h *fakeHost) beginLocked(id core.TurnID) {
	if h.exited {
		return
	}
	if !h.ready {
		h.readyLocked()
	}
	h.a.known[h.launch.SessionID] = true
	h.a.runs[id]++
	h.started = append(h.started, id)
	h.a.fateLocked(id, func(f *core.Fate) { f.Begun = true })
	h.sayLocked(core.Event{Kind: core.TurnState, Type: "command_lifecycle", Turn: id, Phase: core.PhaseStarted})
}

func (h *fakeHost) hasBegun(id core.TurnID) bool {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return slices.Contains(h.started, id)
}

// tool has the running turn use a tool.
func (h *fakeHost) tool(id core.TurnID) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	if h.exited {
		return
	}
	h.a.fateLocked(id, func(f *core.Fate) { f.ToolBegun, f.Done = true, "Bash (make)" })
	h.sayLocked(core.Event{Kind: core.ToolBegun, Type: "assistant", Tool: "Bash", Target: "make", Raw: json.RawMessage(`{"type":"assistant"}`)})
}

// bash has the running turn call Bash with a timeout of its own.
func (h *fakeHost) bash(id core.TurnID, call string, timeout time.Duration) {
	h.records(id, func(f *core.Fate) { f.ToolBegun, f.Done = true, "Bash (make)" })
	h.say(core.Event{Kind: core.ToolBegun, Type: "assistant", Tool: "Bash", Target: "make", ToolID: call, Timeout: timeout})
}

// runs says how many background tasks are alive.
func (h *fakeHost) runs(tasks int) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.tasks = tasks
	h.sayLocked(core.Event{Kind: core.TasksChanged, Type: "system", Tasks: make([]string, tasks)})
}

// retries says that a call of the API failed with the status.
func (h *fakeHost) retries(status int) {
	h.say(core.Event{Kind: core.Retrying, Type: "system", Status: status, Detail: fmt.Sprint("status ", status)})
}

// result ends turns with an answer.
func (h *fakeHost) result(text string, ids ...core.TurnID) {
	h.results(core.Result{Text: text, Turns: ids, SessionID: h.launch.SessionID})
}

func (h *fakeHost) results(r core.Result) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	if h.exited {
		return
	}
	for _, id := range r.Turns {
		h.a.fateLocked(id, func(f *core.Fate) {
			f.Answered, f.Failed, f.Interrupted = !r.IsError, r.IsError && !r.Interrupted, r.Interrupted
			f.Text, f.Code = r.Text, r.Code
		})
	}
	h.sayLocked(core.Event{Kind: core.Resulted, Type: "result", Result: &r, Raw: fmt.Appendf(nil, `{"type":"result","uuid":"%d-%d"}`, h.pid, h.next)})
}

// finish ends a turn that was begun with an answer.
func (h *fakeHost) finish(id core.TurnID, text string) {
	h.result(text, id)
	h.done(id)
}

// records changes what the record shows of a turn.
func (h *fakeHost) records(id core.TurnID, change func(*core.Fate)) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	if !h.exited {
		h.a.fateLocked(id, change)
	}
}

// done says that the agent is done with turns.
func (h *fakeHost) done(ids ...core.TurnID) {
	for _, id := range ids {
		h.say(core.Event{Kind: core.TurnState, Type: "command_lifecycle", Turn: id, Phase: core.PhaseCompleted})
	}
}

// answer plays a whole text turn.
func (h *fakeHost) answer(id core.TurnID, text string) {
	h.begin(id)
	h.result(text, id)
	h.done(id)
}

// ask requests a tool permission.
func (h *fakeHost) ask(id, tool string) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	r := core.Request{ID: id, Tool: tool, Input: json.RawMessage(`{"command":"ls"}`), Suggestion: json.RawMessage(`[{"type":"addRules"}]`)}
	h.requests = append(h.requests, r)
	h.sayLocked(core.Event{Kind: core.Requested, Type: "control_request", Request: &r})
}

// call requests a tool of the gateway.
func (h *fakeHost) call(id, message string) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	r := core.ToolRequest{ID: id, MessageID: "1" + id[1:], Message: json.RawMessage(message)}
	h.calls = append(h.calls, r)
	h.sayLocked(core.Event{Kind: core.ToolRequested, Type: "control_request", ToolRequest: &r})
}

// response returns the response to a call, "" before.
func (h *fakeHost) response(id string) string {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return h.responses[id]
}

// answered returns what a request was answered with.
func (h *fakeHost) answered(id string) (core.Answer, bool) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	answer, ok := h.answers[id]
	return answer, ok
}

// acknowledgeLocked takes an ack, which must not reach past an event whose effect
// is not durable: after a crash it would be missing.
func (h *fakeHost) acknowledgeLocked(seq uint64) {
	if h.keeps {
		return
	}
	if seq > h.next {
		h.a.t.Errorf("host: event %d acknowledged, the last one is %d", seq, h.next)
	}
	for len(h.log) > 0 && h.log[0].Seq <= seq {
		if ev := h.log[0]; !h.a.lax && !h.durable(ev) {
			h.a.t.Errorf("%s %s host %d: event %d (%s %s %v) acknowledged before its effect was durable", time.Now().Format("05.000"), h.key, h.pid, ev.Seq, ev.Type, ev.Turn, ev.Result)
		}
		h.followLocked(h.log[0])
		h.log = h.log[1:]
	}
	h.acked = max(h.acked, seq)
	if h.exited && len(h.log) == 0 {
		h.endLocked()
	}
}

// followLocked notes what an event that is acknowledged says of turns.
func (h *fakeHost) followLocked(ev core.Event) {
	switch {
	case ev.Kind != core.TurnState:
	case ev.Phase == core.PhaseStarted:
		h.working = append(h.working, ev.Turn)
	case ev.Phase == core.PhaseCompleted || ev.Phase == core.PhaseCancelled:
		h.working = slices.DeleteFunc(h.working, func(id core.TurnID) bool { return id == ev.Turn })
	}
}

// acknowledge has everything that was said be acknowledged, also where that is lost.
func (h *fakeHost) acknowledge() {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	keeps := h.keeps
	h.keeps = false
	h.acknowledgeLocked(h.next)
	h.keeps = keeps
}

func (h *fakeHost) durable(ev core.Event) bool {
	switch ev.Kind {
	case core.Resulted:
		if ev.Result.Background {
			return h.a.ledger.hasBackground(cmp.Or(ev.Result.Text, ev.Result.Error))
		}
		return !slices.ContainsFunc(ev.Result.Turns, func(id core.TurnID) bool { return !h.a.ledger.isDone(id) })
	case core.TurnState:
		late := time.Since(h.saidAt[ev.Seq]) >= holdAtMost
		return ev.Phase == core.PhaseStarted || ev.Phase == core.PhaseQueued || late || h.exited || h.a.ledger.isDone(ev.Turn)
	case core.SessionNew: // its id was saved, or a later one
		saved, _ := h.a.sessions.Get(h.key)
		return slices.Index(h.ids, saved) >= slices.Index(h.ids, ev.SessionID)
	default:
		return true
	}
}
