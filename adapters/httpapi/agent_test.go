package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/lanes"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/core/schedule"
	"bareclaw/core/sessionfile"
	"bareclaw/internal/testkit/check"
)

// A gateway is a real core with a real ledger, which can be made to fail, and an agent that
// answers by script.
type gateway struct {
	*lanes.Manager
	agent  *agent
	ledger *ledgerWithFaults
}

func newGateway(t testing.TB, change func(*lanes.Options)) *gateway {
	t.Helper()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	l, err := sqlite.Open(filepath.Join(dir, "ledger.db"), log)
	check.OK(t, err)
	sessions, err := sessionfile.Open(filepath.Join(dir, "sessions.json"), log)
	check.OK(t, err)
	g := &gateway{agent: &agent{held: map[string]chan hold{}}, ledger: &ledgerWithFaults{Ledger: l}}
	o := lanes.Options{Ledger: g.ledger, Agent: g.agent, Sessions: sessions, Log: log, Approvals: lanes.ApprovalsAsk}
	if change != nil {
		change(&o)
	}
	g.Manager = lanes.New(o)
	check.OK(t, g.Recover(t.Context(), nil))
	t.Cleanup(func() {
		g.Detach()
		if err := errors.Join(sessions.Close(), l.Close()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// submit accepts a message as from an HTTP client.
func (g *gateway) submit(t testing.TB, channel core.ChannelKey, text string) *core.Ticket {
	t.Helper()
	ticket, err := g.Submit(t.Context(), core.Submission{Channel: channel, Adapter: adapterName, Mode: core.Collect, Content: core.Content{Text: text}})
	check.OK(t, err)
	return ticket
}

// watch returns a function that waits for the next update of a kind on a channel.
func (g *gateway) watch(t testing.TB, key core.ChannelKey) (next func(core.UpdateKind) core.Update) {
	t.Helper()
	updates := g.Feeds.Subscribe(key)
	t.Cleanup(updates.Close)
	return func(kind core.UpdateKind) core.Update {
		for {
			u, ok := updates.Next()
			switch {
			case !ok:
				<-updates.C()
			case u.Kind == kind:
				return u
			}
		}
	}
}

// accepted returns all messages with their content, oldest first.
func (g *gateway) accepted(t testing.TB) (all []core.Message) {
	t.Helper()
	channels, err := g.Directory.Channels(t.Context())
	check.OK(t, err)
	for _, c := range channels {
		messages, err := g.Lookup.Messages(t.Context(), c.Key, maxHistory, "")
		check.OK(t, err)
		for i := range messages {
			m, err := g.Lookup.Message(t.Context(), messages[len(messages)-1-i].ID)
			check.OK(t, err)
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b core.Message) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return all
}

// ledgerWithFaults fails with the error of fail.
type ledgerWithFaults struct {
	*sqlite.Ledger

	err atomic.Pointer[error]
}

func (l *ledgerWithFaults) fail(err error) { l.err.Store(&err) }

func (l *ledgerWithFaults) fault() error {
	if err := l.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (l *ledgerWithFaults) Write(c core.Change, done func(error)) {
	if err := l.fault(); err != nil {
		go done(err)
		return
	}
	l.Ledger.Write(c, done)
}

func (l *ledgerWithFaults) Balance(ctx context.Context) (core.Balance, error) {
	b, err := l.Ledger.Balance(ctx)
	return b, errors.Join(err, l.fault())
}

func (l *ledgerWithFaults) AddJob(ctx context.Context, j schedule.Job) error {
	return l.unlessFault(func() error { return l.Ledger.AddJob(ctx, j) })
}

func (l *ledgerWithFaults) RemoveJob(ctx context.Context, id string) error {
	return l.unlessFault(func() error { return l.Ledger.RemoveJob(ctx, id) })
}

func (l *ledgerWithFaults) ReplaceJob(ctx context.Context, j schedule.Job) error {
	return l.unlessFault(func() error { return l.Ledger.ReplaceJob(ctx, j) })
}

func (l *ledgerWithFaults) PutOccurrences(ctx context.Context, job string, all []schedule.Occurrence, keep int) error {
	return l.unlessFault(func() error { return l.Ledger.PutOccurrences(ctx, job, all, keep) })
}

func (l *ledgerWithFaults) unlessFault(write func() error) error {
	if err := l.fault(); err != nil {
		return err
	}
	return write()
}

// An agent echoes the text of each turn, or its content blocks. Some texts are commands:
//
//	hold NAME         answers when the test calls release
//	ask TOOL INPUT    asks for permission, and answers with the decision
//	fail CODE         fails
//	cut               ends the agent's process while a tool runs
type agent struct {
	core.Agent

	mu   sync.Mutex           // guards the fields below
	held map[string]chan hold // by NAME, the last one
	runs []string             // contents of all turns
}

// A hold is a turn without an answer.
type hold struct {
	s    *session
	turn core.TurnID
}

func (*agent) Live(context.Context) ([]core.ChannelKey, error) { return nil, nil }
func (*agent) Reap(context.Context, core.ChannelKey) error     { return nil }
func (*agent) Lasting() bool                                   { return false }
func (*agent) Reserve() (string, bool)                         { return "", false }

func (*agent) Compose(_ core.TurnID, content json.RawMessage) ([]byte, error) { return content, nil }

func (*agent) Attach(context.Context, core.ChannelKey) (core.Session, error) {
	return nil, core.ErrNoHost
}

func (*agent) Fate(context.Context, core.ChannelKey, string, core.TurnID) (core.Fate, error) {
	return core.Fate{}, nil
}

func (a *agent) Start(_ context.Context, _ core.ChannelKey, l core.Launch) (core.Session, error) {
	return &session{agent: a, info: core.SessionInfo{SessionID: l.SessionID, HostPID: 12, AgentPID: 13, Ready: true}, events: make(chan *core.Batch, 1<<10)}, nil
}

// release answers a held turn, once it is handed over.
func (a *agent) release(t testing.TB, name string, r core.Result) {
	t.Helper()
	select {
	case h := <-a.holds(name):
		h.s.result(h.turn, r)
	case <-t.Context().Done():
	}
}

// holds returns the channel of the held turn of a name.
func (a *agent) holds(name string) chan hold {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held[name] == nil {
		a.held[name] = make(chan hold, 1)
	}
	return a.held[name]
}

// A session is one conversation with the agent.
type session struct {
	core.Session

	agent  *agent
	info   core.SessionInfo
	events chan *core.Batch

	mu     sync.Mutex // guards the fields below
	seq    uint64
	cost   float64
	turn   core.TurnID // handed over last
	asked  core.TurnID
	closed bool
}

func (s *session) Info() core.SessionInfo     { return s.info }
func (s *session) Events() <-chan *core.Batch { return s.events }
func (s *session) Ack(uint64)                 {}
func (s *session) Detach()                    { s.end() }

func (s *session) Stop(core.StopMode) error {
	s.say(core.Event{Kind: core.Exited, Exit: &core.Exit{Code: "agent_exit"}})
	s.end()
	return nil
}

func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.events)
	}
}

func (s *session) say(events ...core.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for i := range events {
		s.seq++
		events[i].Seq, events[i].At = s.seq, time.Now()
	}
	s.events <- &core.Batch{Events: events}
}

func (s *session) Hand(id core.TurnID, line []byte) error {
	text := words(line)
	s.mu.Lock()
	s.turn = id
	s.mu.Unlock()
	s.agent.mu.Lock()
	s.agent.runs = append(s.agent.runs, text)
	s.agent.mu.Unlock()
	started := core.Event{Kind: core.TurnState, Turn: id, Phase: core.PhaseStarted}
	command, rest, _ := strings.Cut(text, " ")
	switch command {
	case "hold":
		s.say(started)
		held := s.agent.holds(rest)
		if len(held) > 0 { // a turn that has ended otherwise
			<-held
		}
		held <- hold{s, id}
	case "ask":
		tool, input, _ := strings.Cut(rest, " ")
		s.mu.Lock()
		s.asked = id
		s.mu.Unlock()
		s.say(started, core.Event{Kind: core.Requested, Request: &core.Request{ID: string(id), Tool: tool, Input: json.RawMessage(input)}})
	case "cut":
		s.say(started, core.Event{Kind: core.ToolBegun, Tool: "Bash"})
		return s.Stop(core.StopGently)
	case "fail":
		s.say(started)
		s.result(id, core.Result{IsError: true, Code: rest, Error: "It failed.", Text: "It failed."})
	default:
		s.say(started)
		s.result(id, core.Result{Text: text})
	}
	return nil
}

// words returns the content of a turn without the line about its origin.
func words(content []byte) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		_, text, _ = strings.Cut(text, "\n")
		return text
	}
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	for _, b := range blocks[1:] {
		text += string(b)
	}
	return text
}

// result ends a turn, at a cost.
func (s *session) result(id core.TurnID, r core.Result) {
	s.mu.Lock()
	s.cost += 0.0125
	r.Turns, r.SessionID, r.TotalCost = []core.TurnID{id}, s.info.SessionID, s.cost
	s.mu.Unlock()
	s.say(core.Event{Kind: core.Resulted, Result: &r}, core.Event{Kind: core.TurnState, Turn: id, Phase: core.PhaseCompleted})
}

func (s *session) Interrupt() error {
	s.result(s.turn, core.Result{IsError: true, Interrupted: true, Code: core.CodeInterrupted})
	return nil
}

func (s *session) Answer(_ string, d core.Answer) error {
	text := "denied: " + d.Message
	if d.Allow {
		text = "allowed: " + string(d.UpdatedInput)
	}
	s.result(s.asked, core.Result{Text: text})
	return nil
}
