package lanes

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/core"
)

type jsonRaw = json.RawMessage

// A fakeAgent keeps the contract of [Agent]: it starts hosts, which outlive the
// lives of the gateway, and remembers of each turn what the real agent's record
// would show. It fails the test when a promise is broken towards it: a turn that
// is not durable, that changes its bytes, or that would run twice.
type fakeAgent struct {
	t        *testing.T
	ledger   *testLedger
	sessions *fakeSessions

	mu        sync.Mutex
	hosts     map[core.ChannelKey]*fakeHost
	all       []*fakeHost // in the order of their start
	pids      int
	launches  []core.Launch
	known     map[string]bool // sessions that can be resumed
	fates     map[core.TurnID]*core.Fate
	fateErr   error
	lines     map[core.TurnID]string
	runs      map[core.TurnID]int // times the turn was begun
	reaped    int
	panicIn   string // the next call of that method panics
	fleeting  bool   // sessions cannot be resumed
	startErr  error
	attachErr error
	refuses   string   // text of which no turn can be made
	lax       bool     // acknowledgements are not checked
	limit     int      // hosts there may be at once; 0: any number
	spares    []string // ids that Reserve gives, the first one first
	gates     map[string]chan struct{}
	// script, if set, is told of each host that is started; it runs the host in
	// goroutines of its own, which end with the host.
	script func(*fakeHost)
}

func newFakeAgent(t *testing.T, l *testLedger, s *fakeSessions) *fakeAgent {
	return &fakeAgent{
		t: t, ledger: l, sessions: s, hosts: map[core.ChannelKey]*fakeHost{}, known: map[string]bool{}, fates: map[core.TurnID]*core.Fate{},
		lines: map[core.TurnID]string{}, runs: map[core.TurnID]int{}, gates: map[string]chan struct{}{},
	}
}

// panicIf panics, once, in the method that panicIn names.
func (a *fakeAgent) panicIf(method string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.panicIn == method {
		a.panicIn = ""
		panic("a fault in " + method)
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
	a.panicIf(method)
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
func (a *fakeAgent) fate(id core.TurnID, change func(*core.Fate)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fateLocked(id, change)
}

func (a *fakeAgent) fateLocked(id core.TurnID, change func(*core.Fate)) {
	if a.fates[id] == nil {
		a.fates[id] = &core.Fate{}
	}
	change(a.fates[id])
}

// An agentOf is the agent as one process of the gateway sees it.
type agentOf struct {
	*fakeAgent
	life *life
}

// pass fails for a process that was killed, whose goroutines the test cannot stop at once.
func (a agentOf) pass(ctx context.Context, method string) error {
	if a.life.dead.Load() {
		return errCut
	}
	return a.fakeAgent.pass(ctx, method)
}

func (a agentOf) Lasting() bool { return !a.fleeting }

func (a agentOf) Reserve() (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.spares) == 0 {
		return "", false
	}
	id := a.spares[0]
	a.spares = a.spares[1:]
	return id, true
}

func (a agentOf) Compose(id core.TurnID, content json.RawMessage) ([]byte, error) {
	a.panicIf("compose")
	if !json.Valid(content) {
		return nil, errors.New("content is not JSON")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuses != "" && strings.Contains(string(content), a.refuses) {
		return nil, errors.New("content is not accepted")
	}
	return append([]byte(content), '\n'), nil
}

func (a agentOf) Start(ctx context.Context, key core.ChannelKey, launch core.Launch) (core.Session, error) {
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
	if a.limit > 0 && len(a.hosts) >= a.limit {
		a.t.Errorf("agent: %s is started although %d hosts are alive", key, len(a.hosts))
	}
	a.pids++
	h := &fakeHost{a: a.fakeAgent, key: key, launch: launch, pid: a.pids, saidAt: map[uint64]time.Time{}, turn: make(chan core.TurnID, 100), stop: make(chan struct{}), gone: make(chan struct{})}
	h.changed = sync.NewCond(&a.mu)
	a.hosts[key] = h
	a.all = append(a.all, h)
	switch {
	case launch.SessionID == "":
		a.t.Error("agent: started without a session id")
	case launch.Resume && !a.known[launch.SessionID]:
		h.exitLocked(core.Exit{Reason: core.ExitUnknownSession, Code: "agent_exit", Text: "No conversation found."})
	case !launch.Resume && a.known[launch.SessionID]:
		h.exitLocked(core.Exit{Reason: core.ExitSessionInUse, Code: "agent_exit", Text: "Session is in use."})
	case a.script != nil:
		go a.script(h) // ends with the host
	}
	return h.connectLocked(a.life), nil
}

func (a agentOf) Attach(ctx context.Context, key core.ChannelKey) (core.Session, error) {
	if err := a.pass(ctx, "attach"); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.hosts[key]
	if h == nil {
		return nil, core.ErrNoHost
	}
	if a.attachErr != nil {
		return nil, a.attachErr
	}
	return h.connectLocked(a.life), nil
}

func (a agentOf) Reap(ctx context.Context, key core.ChannelKey) error {
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

func (a agentOf) Live(context.Context) ([]core.ChannelKey, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var keys []core.ChannelKey
	for key := range a.hosts {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

func (a agentOf) Fate(ctx context.Context, key core.ChannelKey, sessionID string, id core.TurnID) (core.Fate, error) {
	if err := a.pass(ctx, "fate"); err != nil {
		return core.Fate{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fateErr != nil {
		return core.Fate{}, a.fateErr
	}
	fate := a.fates[id]
	if fate == nil {
		return core.Fate{}, nil
	}
	return *fate, nil
}
