package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

type jsonRaw = json.RawMessage

// A fakeAgent keeps the contract of [Agent]: it starts hosts, which outlive the
// lives of the gateway, and remembers of each turn what the real agent's record
// would show. It fails the test when a promise is broken towards it: a turn that
// is not durable, that changes its bytes, or that would run twice.
type fakeAgent struct {
	t        *testing.T
	ledger   *fakeLedger
	sessions *fakeSessions

	mu        sync.Mutex
	hosts     map[ChannelKey]*fakeHost
	pids      int
	launches  []Launch
	known     map[string]bool // sessions that can be resumed
	fates     map[TurnID]*Fate
	fateErr   error
	lines     map[TurnID]string
	runs      map[TurnID]int // times the turn was begun
	reaped    int
	fleeting  bool // sessions cannot be resumed
	startErr  error
	attachErr error
	refuses   string // content of which no turn can be made
	lax       bool   // acknowledgements are not checked
	gates     map[string]chan struct{}
	// script, if set, is told of each host that is started; it runs the host in
	// goroutines of its own, which end with the host.
	script func(*fakeHost)
}

func newFakeAgent(t *testing.T, l *fakeLedger, s *fakeSessions) *fakeAgent {
	return &fakeAgent{
		t: t, ledger: l, sessions: s, hosts: map[ChannelKey]*fakeHost{}, known: map[string]bool{}, fates: map[TurnID]*Fate{},
		lines: map[TurnID]string{}, runs: map[TurnID]int{}, gates: map[string]chan struct{}{},
	}
}

// block makes calls of a method (start, attach, reap, fate) wait until the
// returned function is called.
func (a *fakeAgent) block(method string) (unblock func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	gate := make(chan struct{})
	a.gates[method] = gate
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.gates, method)
		close(gate)
	})
}

func (a *fakeAgent) pass(ctx context.Context, method string) error {
	a.mu.Lock()
	gate := a.gates[method]
	a.mu.Unlock()
	if gate == nil {
		return ctx.Err()
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fate changes what the record shows of a turn.
func (a *fakeAgent) fate(id TurnID, change func(*Fate)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fateLocked(id, change)
}

func (a *fakeAgent) fateLocked(id TurnID, change func(*Fate)) {
	if a.fates[id] == nil {
		a.fates[id] = &Fate{}
	}
	change(a.fates[id])
}

// An agentOf is the agent as one process of the gateway sees it.
type agentOf struct {
	*fakeAgent
	life *life
}

func (a agentOf) Lasting() bool { return !a.fleeting }

func (a agentOf) Compose(id TurnID, content json.RawMessage) ([]byte, error) {
	if !json.Valid(content) {
		return nil, errors.New("content is not JSON")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuses != "" && string(content) == a.refuses {
		return nil, errors.New("content is not accepted")
	}
	return append([]byte(content), '\n'), nil
}

func (a agentOf) Start(ctx context.Context, key ChannelKey, launch Launch) (Session, error) {
	if err := a.pass(ctx, "start"); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.launches = append(a.launches, launch)
	if a.startErr != nil {
		return nil, a.startErr
	}
	if old := a.hosts[key]; old != nil {
		old.endLocked()
	}
	a.pids++
	h := &fakeHost{a: a.fakeAgent, key: key, launch: launch, pid: a.pids, saidAt: map[uint64]time.Time{}, turn: make(chan TurnID, 100), stop: make(chan struct{}), gone: make(chan struct{})}
	h.changed = sync.NewCond(&a.mu)
	a.hosts[key] = h
	switch {
	case launch.SessionID == "":
		a.t.Error("agent: started without a session id")
	case launch.Resume && !a.known[launch.SessionID]:
		h.exitLocked(Exit{Reason: ExitUnknownSession, Code: "agent_exit", Text: "No conversation found."})
	case !launch.Resume && a.known[launch.SessionID]:
		h.exitLocked(Exit{Reason: ExitSessionInUse, Code: "agent_exit", Text: "Session is in use."})
	case a.script != nil:
		go a.script(h) // ends with the host
	}
	return h.connectLocked(a.life), nil
}

func (a agentOf) Attach(ctx context.Context, key ChannelKey) (Session, error) {
	if err := a.pass(ctx, "attach"); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.hosts[key]
	if h == nil {
		return nil, ErrNoHost
	}
	if a.attachErr != nil {
		return nil, a.attachErr
	}
	return h.connectLocked(a.life), nil
}

func (a agentOf) Reap(ctx context.Context, key ChannelKey) error {
	if err := a.pass(ctx, "reap"); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reaped++
	if h := a.hosts[key]; h != nil {
		h.endLocked()
	}
	return nil
}

func (a agentOf) Live(context.Context) ([]ChannelKey, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var keys []ChannelKey
	for key := range a.hosts {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

func (a agentOf) Fate(ctx context.Context, key ChannelKey, sessionID string, id TurnID) (Fate, error) {
	if err := a.pass(ctx, "fate"); err != nil {
		return Fate{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fateErr != nil {
		return Fate{}, a.fateErr
	}
	fate := a.fates[id]
	if fate == nil {
		return Fate{}, nil
	}
	return *fate, nil
}

// A fakeHost is a process that holds one agent. Tests play the agent through it:
// begin, tool, result, done and so on. Its fields are guarded by the agent's mu.
type fakeHost struct {
	a      *fakeAgent
	key    ChannelKey
	launch Launch
	pid    int

	changed    *sync.Cond
	log        []Event // not acknowledged
	next       uint64
	acked      uint64
	client     *fakeSession
	turns      []TurnID
	saidAt     map[uint64]time.Time
	ids        []string // the conversation went on under
	requests   []Request
	answers    map[string]Answer
	interrupts int
	ready      bool
	exited     bool
	ended      bool
	deaf       bool        // does not end when it is stopped
	turn       chan TurnID // what is handed over, for scripts
	stop       chan struct{}
	gone       chan struct{} // closed when ended
}

func (h *fakeHost) connectLocked(by *life) *fakeSession {
	if h.client != nil {
		h.client.cutLocked()
	}
	s := &fakeSession{h: h, life: by, events: make(chan []Event), quit: make(chan struct{}), info: SessionInfo{
		SessionID: h.launch.SessionID, HostPID: h.pid, AgentPID: 1000 + h.pid, Ready: h.ready,
		Turns: slices.Clone(h.turns), Requests: slices.Clone(h.requests),
	}}
	h.client = s
	go s.pump(h.acked) // ends with the connection or the host
	return s
}

func (h *fakeHost) sayLocked(ev Event) {
	if h.ended || h.exited && ev.Kind != Exited {
		return
	}
	if ev.Kind == SessionNew {
		h.ids = append(h.ids, ev.SessionID)
	}
	h.next++
	ev.Seq = h.next
	h.log = append(h.log, ev)
	h.saidAt[ev.Seq] = time.Now()
	h.changed.Broadcast()
}

func (h *fakeHost) say(ev Event) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.sayLocked(ev)
}

// exit ends the agent; its host stays until the end is acknowledged.
func (h *fakeHost) exit(e Exit) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.exitLocked(e)
}

func (h *fakeHost) exitLocked(e Exit) {
	if h.exited || h.ended {
		return
	}
	h.sayLocked(Event{Kind: Exited, Type: "exit", Exit: &e})
	h.exited, h.requests = true, nil
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

// handed returns the turns that were handed over, oldest first.
func (h *fakeHost) handed() []TurnID {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return slices.Clone(h.turns)
}

// ready reports that the agent has started.
func (h *fakeHost) becomeReady() {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.ready = true
	h.sayLocked(Event{Kind: Readied, Type: "ready"})
}

// begin has the agent take up a turn.
func (h *fakeHost) begin(id TurnID) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.beginLocked(id)
}

func (h *fakeHost) beginLocked(id TurnID) {
	if h.exited {
		return
	}
	h.a.known[h.launch.SessionID] = true
	h.a.runs[id]++
	h.a.fateLocked(id, func(f *Fate) { f.Begun = true })
	h.sayLocked(Event{Kind: TurnState, Type: "command_lifecycle", Turn: id, Phase: PhaseStarted})
}

// tool has the running turn use a tool.
func (h *fakeHost) tool(id TurnID) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	if h.exited {
		return
	}
	h.a.fateLocked(id, func(f *Fate) { f.ToolBegun, f.Done = true, "Bash (make)" })
	h.sayLocked(Event{Kind: ToolBegun, Type: "assistant", Tool: "Bash", Target: "make", Raw: json.RawMessage(`{"type":"assistant"}`)})
}

// result ends turns with an answer.
func (h *fakeHost) result(text string, ids ...TurnID) {
	h.results(Result{Text: text, Turns: ids, SessionID: h.launch.SessionID})
}

func (h *fakeHost) results(r Result) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	if h.exited {
		return
	}
	for _, id := range r.Turns {
		h.a.fateLocked(id, func(f *Fate) {
			f.Answered, f.Failed, f.Interrupted = !r.IsError, r.IsError && !r.Interrupted, r.Interrupted
			f.Text, f.Code = r.Text, r.Code
		})
	}
	h.sayLocked(Event{Kind: Resulted, Type: "result", Result: &r, Raw: fmt.Appendf(nil, `{"type":"result","uuid":"%d-%d"}`, h.pid, h.next)})
}

// records changes what the record shows of a turn.
func (h *fakeHost) records(id TurnID, change func(*Fate)) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	if !h.exited {
		h.a.fateLocked(id, change)
	}
}

// done says that the agent is done with turns.
func (h *fakeHost) done(ids ...TurnID) {
	for _, id := range ids {
		h.say(Event{Kind: TurnState, Type: "command_lifecycle", Turn: id, Phase: PhaseCompleted})
	}
}

// answer plays a whole text turn.
func (h *fakeHost) answer(id TurnID, text string) {
	h.begin(id)
	h.result(text, id)
	h.done(id)
}

// ask requests a tool permission.
func (h *fakeHost) ask(id, tool string) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	r := Request{ID: id, Tool: tool, Input: json.RawMessage(`{"command":"ls"}`), Suggestion: json.RawMessage(`[{"type":"addRules"}]`)}
	h.requests = append(h.requests, r)
	h.sayLocked(Event{Kind: Requested, Type: "control_request", Request: &r})
}

// answered returns what a request was answered with.
func (h *fakeHost) answered(id string) (Answer, bool) {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	answer, ok := h.answers[id]
	return answer, ok
}

// acknowledgeLocked takes an ack, which must not reach past an event whose effect
// is not durable: after a crash it would be missing.
func (h *fakeHost) acknowledgeLocked(seq uint64) {
	if seq > h.next {
		h.a.t.Errorf("host: event %d acknowledged, the last one is %d", seq, h.next)
	}
	for len(h.log) > 0 && h.log[0].Seq <= seq {
		if ev := h.log[0]; !h.a.lax && !h.durable(ev) {
			h.a.t.Errorf("%s %s host %d: event %d (%s %s %v) acknowledged before its effect was durable", time.Now().Format("05.000"), h.key, h.pid, ev.Seq, ev.Type, ev.Turn, ev.Result)
		}
		h.log = h.log[1:]
	}
	h.acked = max(h.acked, seq)
	if h.exited && len(h.log) == 0 {
		h.endLocked()
	}
}

func (h *fakeHost) durable(ev Event) bool {
	switch ev.Kind {
	case Resulted:
		if ev.Result.Background {
			return slices.ContainsFunc(h.a.ledger.allBackgrounds(), func(b Background) bool { return b.Text == cmp.Or(ev.Result.Text, ev.Result.Error) })
		}
		return !slices.ContainsFunc(ev.Result.Turns, func(id TurnID) bool { return !h.a.ledger.settled(id) })
	case TurnState:
		late := time.Since(h.saidAt[ev.Seq]) >= holdAtMost
		return ev.Phase == PhaseStarted || ev.Phase == PhaseQueued || late || h.a.ledger.settled(ev.Turn)
	case SessionNew: // its id was saved, or a later one
		saved, _ := h.a.sessions.Get(h.key)
		return slices.Index(h.ids, saved) >= slices.Index(h.ids, ev.SessionID)
	default:
		return true
	}
}

func (l *fakeLedger) allBackgrounds() []Background {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.backgrounds)
}

// A fakeSession is a connection to a host.
type fakeSession struct {
	h      *fakeHost
	life   *life
	info   SessionInfo
	events chan []Event
	quit   chan struct{}
	isCut  bool
	busy   sync.Mutex // held during each call: there may be one at a time
}

// pump passes on what the host says, as much at once as there is.
func (s *fakeSession) pump(after uint64) {
	defer close(s.events)
	mu := &s.h.a.mu
	for {
		mu.Lock()
		for !s.isCut && !s.h.ended && (len(s.h.log) == 0 || s.h.log[len(s.h.log)-1].Seq <= after) {
			s.h.changed.Wait()
		}
		var batch []Event
		for _, ev := range s.h.log {
			if ev.Seq > after {
				batch = append(batch, ev)
			}
		}
		over := s.isCut || s.h.ended
		mu.Unlock()
		if over {
			return
		}
		after = batch[len(batch)-1].Seq
		select {
		case s.events <- batch:
		case <-s.quit:
			return
		}
	}
}

func (s *fakeSession) cutLocked() {
	if !s.isCut {
		s.isCut = true
		close(s.quit)
		s.h.changed.Broadcast()
	}
}

// call enters a method that only one goroutine may be in, and says whether it
// reaches the host.
func (s *fakeSession) call(what string) (leave func(), reaches bool) {
	if !s.busy.TryLock() {
		s.h.a.t.Errorf("session: %s during another call", what)
		return func() {}, false
	}
	s.h.a.mu.Lock()
	return func() { s.h.a.mu.Unlock(); s.busy.Unlock() }, !s.life.dead.Load() && !s.isCut && !s.h.ended
}

var errCut = errors.New("connection is cut")

func (s *fakeSession) Info() SessionInfo { return s.info }

func (s *fakeSession) Events() <-chan []Event { return s.events }

func (s *fakeSession) Hand(id TurnID, line []byte) error {
	leave, reaches := s.call("Hand")
	defer leave()
	if !reaches {
		return errCut
	}
	t := s.h.a.t
	if s.h.a.ledger.settled(id) {
		t.Errorf("host: turn %s handed over, which is not durable or has ended", id)
	}
	if slices.Contains(s.h.turns, id) {
		t.Errorf("host: turn %s handed to the same process twice", id)
	}
	if first, ok := s.h.a.lines[id]; ok && first != string(line) {
		t.Errorf("host: turn %s handed over with other bytes: %q, then %q", id, first, line)
	}
	if f := s.h.a.fates[id]; f != nil && (f.ToolBegun || f.Answered || f.Failed || f.Interrupted) {
		t.Errorf("%s %s host %d: turn %s handed over again after %+v", time.Now().Format("05.000"), s.h.key, s.h.pid, id, *f)
	}
	if h := s.h.a.hosts[s.h.key]; h != s.h {
		t.Errorf("host: turn %s handed to an old process", id)
	}
	s.h.a.lines[id] = string(line)
	s.h.turns = append(s.h.turns, id)
	select {
	case s.h.turn <- id:
	default:
	}
	return nil
}

func (s *fakeSession) Interrupt() error {
	leave, reaches := s.call("Interrupt")
	defer leave()
	if !reaches {
		return errCut
	}
	s.h.interrupts++
	s.h.changed.Broadcast()
	return nil
}

func (s *fakeSession) Answer(requestID string, d Answer) error {
	leave, reaches := s.call("Answer")
	defer leave()
	if !reaches {
		return errCut
	}
	i := slices.IndexFunc(s.h.requests, func(r Request) bool { return r.ID == requestID })
	if i < 0 {
		return nil // the first answer wins
	}
	s.h.requests = slices.Delete(s.h.requests, i, i+1)
	if s.h.answers == nil {
		s.h.answers = map[string]Answer{}
	}
	s.h.answers[requestID] = d
	return nil
}

func (s *fakeSession) Ack(seq uint64) {
	leave, reaches := s.call("Ack")
	defer leave()
	if reaches {
		s.h.acknowledgeLocked(seq)
	}
}

func (s *fakeSession) Stop(bool) error {
	leave, reaches := s.call("Stop")
	defer leave()
	if !reaches {
		return errCut
	}
	if s.h.deaf {
		return nil
	}
	s.h.exitLocked(Exit{Code: "agent_exit", Text: "Claude was ended."})
	time.AfterFunc(time.Second, s.h.die) // it does not wait longer for the last ack
	return nil
}

func (s *fakeSession) Detach() {
	leave, _ := s.call("Detach")
	defer leave()
	s.cutLocked()
}

// fakeSessions keeps the contract of [SessionIDs].
type fakeSessions struct {
	mu  sync.Mutex
	ids map[ChannelKey]string
	err error
	// pause, if set, is how long the next Set takes.
	pause []time.Duration
}

func (s *fakeSessions) has(key ChannelKey, id string) bool {
	got, _ := s.Get(key)
	return got == id
}

func (s *fakeSessions) Get(key ChannelKey) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[key]
	return id, ok
}

func (s *fakeSessions) Set(key ChannelKey, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pause) > 0 {
		d := s.pause[0]
		s.pause = s.pause[1:]
		s.mu.Unlock()
		time.Sleep(d)
		s.mu.Lock()
	}
	if s.err != nil {
		return s.err
	}
	s.ids[key] = id
	return nil
}

func (s *fakeSessions) Forget(key ChannelKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	delete(s.ids, key)
	return nil
}

func (s *fakeSessions) All() map[ChannelKey]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[ChannelKey]string{}
	for k, v := range s.ids {
		all[k] = v
	}
	return all
}
