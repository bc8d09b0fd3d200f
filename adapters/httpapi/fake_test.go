package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"bareclaw/core"
	"bareclaw/core/lanes"
)

// A fake is a gateway in memory. Messages wait until a test settles them,
// unless reply is set. It fails the test on a submission no adapter may make.
type fake struct {
	t     testing.TB
	reply func(m *core.Message) // settles a message as it is accepted

	mu        sync.Mutex // guards the fields below
	err       error      // what the next calls return
	messages  []*core.Message
	done      map[core.MessageID]chan struct{}
	keys      map[string]core.MessageID
	subs      map[core.ChannelKey][]*fakeSub
	updates   map[core.ChannelKey][]core.Update // all that were published
	approvals []core.Approval
	decisions []core.Decision
	settings  map[core.ChannelKey]core.Settings
	uneven    bool
	parked    chan struct{}
	place     core.QueuePosition // written before parked is closed
	store     *memoryStore
}

func newFake(t testing.TB) *fake {
	return &fake{t: t, done: map[core.MessageID]chan struct{}{}, keys: map[string]core.MessageID{}, subs: map[core.ChannelKey][]*fakeSub{},
		updates: map[core.ChannelKey][]core.Update{}, parked: make(chan struct{}), settings: map[core.ChannelKey]core.Settings{}}
}

// reset forgets all messages.
func (f *fake) reset(t testing.TB) {
	f.t, f.messages = t, nil
	clear(f.done)
	clear(f.keys)
	clear(f.updates)
}

// echo answers each message at once with its own text.
func (f *fake) echo() *fake {
	f.reply = func(m *core.Message) {
		text := m.Content.Text
		for _, b := range m.Content.Blocks {
			text += string(b)
		}
		settle(m, core.Reply{State: core.Answered, Text: text, Duration: 7 * time.Millisecond, SessionID: "s-1", CostUSD: 0.0125})
	}
	return f
}

var fakeStart = time.Date(2026, 1, 2, 3, 4, 5, 678900000, time.UTC)

func settle(m *core.Message, r core.Reply) {
	m.State, m.Reply, m.Turn = r.State, r.Complete(), "01890000-0000-7000-8000-00000000aaaa"
	m.DispatchedAt, m.EndedAt = fakeStart.Add(time.Millisecond), fakeStart.Add(time.Second)
}

// checkSubmission reports what no adapter may submit.
func checkSubmission(s core.Submission) error {
	_, keyErr := parseKey(string(s.Channel))
	switch {
	case keyErr != nil:
		return fmt.Errorf("channel %q: %w", s.Channel, keyErr)
	case s.Adapter != "http" || s.CanAsk:
		return fmt.Errorf("adapter %q, can ask %v", s.Adapter, s.CanAsk)
	case s.Content.Blocks == nil && strings.TrimSpace(s.Content.Text) == "":
		return errors.New("no content")
	case s.Content.Blocks != nil && s.Content.Text != "":
		return errors.New("text and blocks")
	case !utf8.ValidString(s.Content.Text) || strings.Contains(s.Content.Text, "\x00"):
		return fmt.Errorf("text %q", s.Content.Text)
	case s.Mode != core.Collect && s.Mode != core.Steer && s.Mode != core.Interrupt:
		return fmt.Errorf("mode %q", s.Mode)
	case max(len(s.Origin.User), len(s.Origin.Chat), len(s.Origin.Topic)) > 256:
		return errors.New("origin is too long")
	}
	for _, b := range s.Content.Blocks {
		if !json.Valid(b) || b[0] != '{' || strings.ContainsAny(string(b), "\n\r") {
			return fmt.Errorf("block %q", b)
		}
	}
	return nil
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fake) Submit(_ context.Context, s core.Submission) (ticket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return ticket{}, f.err
	}
	if err := checkSubmission(s); err != nil {
		f.t.Errorf("submission %+v: %v", s, err)
	}
	if id, ok := f.keys[s.SourceKey]; ok && s.SourceKey != "" {
		old := f.find(id)
		if old.SourceHash != s.SourceHash {
			return ticket{}, fmt.Errorf("%w: message %s", core.ErrKeyReused, id)
		}
		return f.ticket(old, true), nil
	}
	m := &core.Message{
		ID: core.MessageID(fmt.Sprintf("01890000-0000-7000-8000-%012d", len(f.messages)+1)), Channel: s.Channel, Adapter: s.Adapter,
		Origin: s.Origin, Content: s.Content, Prompt: core.PromptOf(s.Content), Mode: s.Mode, SourceKey: s.SourceKey, SourceHash: s.SourceHash,
		ReceivedAt: fakeStart, State: core.Waiting,
	}
	f.messages = append(f.messages, m)
	f.done[m.ID] = make(chan struct{})
	if s.SourceKey != "" {
		f.keys[s.SourceKey] = m.ID
	}
	t := f.ticket(m, false)
	if f.reply != nil {
		f.reply(m)
		close(f.done[m.ID])
	}
	return t, nil
}

func (f *fake) SubmitAndWait(ctx context.Context, s core.Submission, hurry <-chan struct{}) (ticket, error) {
	t, err := f.Submit(ctx, s)
	if err != nil {
		return ticket{}, err
	}
	select {
	case <-t.done:
	case <-t.parked:
	case <-hurry:
	case <-ctx.Done():
		return ticket{}, context.Cause(ctx)
	}
	return t, nil
}

func (f *fake) ticket(m *core.Message, existing bool) ticket {
	return ticket{message: *m, existing: existing, parked: f.parked, place: func() core.QueuePosition { return f.place }, done: f.done[m.ID], outcome: func() core.Message {
		f.mu.Lock()
		defer f.mu.Unlock()
		return *m
	}}
}

// settle gives a message its outcome.
func (f *fake) settle(id core.MessageID, r core.Reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	settle(f.find(id), r)
	close(f.done[id])
}

func (f *fake) find(id core.MessageID) *core.Message {
	for _, m := range f.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (f *fake) submissions() []core.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []core.Message
	for _, m := range f.messages {
		all = append(all, *m)
	}
	return all
}

func (f *fake) Message(_ context.Context, id core.MessageID) (core.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return core.Message{}, f.err
	}
	if m := f.find(id); m != nil {
		return *m, nil
	}
	return core.Message{}, core.ErrNotFound
}

func (f *fake) Resubmission(ctx context.Context, id core.MessageID) (core.Submission, core.Message, error) {
	m, err := f.Message(ctx, id)
	if err == nil && m.State != core.Failed {
		err = core.ErrNotFailed
	}
	return core.Submission{Channel: m.Channel, Adapter: m.Adapter, Content: m.Content, Mode: m.Mode, SourceKey: "retry:" + string(id), RetryOf: id}, m, err
}

func (f *fake) Ticket(_ context.Context, id core.MessageID) (ticket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.find(id)
	if m == nil {
		return ticket{}, core.ErrNotFound
	}
	return f.ticket(m, true), nil
}

func (f *fake) Wait(ctx context.Context, id core.MessageID) (core.Message, error) {
	f.mu.Lock()
	done := f.done[id]
	f.mu.Unlock()
	if done == nil {
		return core.Message{}, core.ErrNotFound
	}
	select {
	case <-done:
		return f.Message(ctx, id)
	case <-ctx.Done():
		m, err := f.Message(ctx, id)
		return m, errors.Join(err, context.Cause(ctx))
	}
}

func (f *fake) Cancel(ctx context.Context, id core.MessageID) (core.Message, error) {
	m, err := f.Message(ctx, id)
	if err != nil {
		return m, err
	}
	if m.State != core.Waiting {
		return m, core.ErrNotWaiting
	}
	f.settle(id, core.Reply{State: core.Cancelled, Code: "cancelled", Error: "Cancelled before it was begun."})
	return f.Message(ctx, id)
}

func (f *fake) Trace(ctx context.Context, id core.MessageID) (core.Trace, error) {
	m, err := f.Message(ctx, id)
	if err != nil {
		return core.Trace{}, err
	}
	if m.Turn == "" {
		return core.Trace{Message: m, QueuePosition: core.QueuePosition{Position: 1, Why: "All sessions are busy."}}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	turn := core.Turn{ID: m.Turn, Members: []core.MessageID{id}, Marks: []core.Mark{
		{At: fakeStart.Add(500 * time.Millisecond), What: "tool", Detail: "Bash"},
		{At: fakeStart.Add(2 * time.Millisecond), What: "started"},
	}}
	return core.Trace{Message: m, Turn: &turn, Members: turn.Members, Approvals: f.approvals}, nil
}

func (f *fake) WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error) {
	f.mu.Lock()
	parked := f.parked
	f.mu.Unlock()
	if isClosed(parked) {
		return f.Message(ctx, id)
	}
	return f.Wait(ctx, id)
}

func (f *fake) QueuePosition(core.MessageID) core.QueuePosition {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isClosed(f.parked) {
		return f.place
	}
	return core.QueuePosition{Position: 1, Why: "All sessions are busy."}
}

// park has every message wait on a parked channel.
func (f *fake) park(at core.QueuePosition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.place = at
	close(f.parked)
}

func (f *fake) status(key core.ChannelKey) (core.ChannelStatus, bool) {
	st := core.ChannelStatus{Key: key, State: "ready", SessionID: "s-1", HostPID: 12, AgentPID: 13, LastAt: fakeStart}
	for _, m := range f.messages {
		if m.Channel == key {
			st.Messages++
		}
	}
	return st, st.Messages > 0
}

func (f *fake) Channels(context.Context) ([]core.ChannelStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []core.ChannelStatus
	for _, m := range f.messages {
		if st, _ := f.status(m.Channel); !slices.Contains(all, st) {
			all = append(all, st)
		}
	}
	return all, f.err
}

func (f *fake) Channel(_ context.Context, key core.ChannelKey) (core.ChannelStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st, ok := f.status(key)
	if !ok {
		return st, core.ErrNotFound
	}
	return st, f.err
}

func (f *fake) Messages(_ context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []core.Message
	for _, m := range slices.Backward(f.messages) {
		if m.Channel == key && (before == "" || m.ID < before) && len(all) < limit {
			all = append(all, *m)
		}
	}
	return all, f.err
}

func (f *fake) Backgrounds(_ context.Context, key core.ChannelKey, _ int) ([]core.Background, error) {
	if key != "http" {
		return nil, nil
	}
	return []core.Background{{ID: "b-1", Channel: key, Text: "the build is done", CreatedAt: fakeStart}}, nil
}

func (f *fake) Interrupt(ctx context.Context, key core.ChannelKey, turn core.TurnID) (lanes.Interruption, error) {
	if _, err := f.Channel(ctx, key); err != nil {
		return lanes.Interruption{}, err
	}
	switch turn {
	case "", "turn-1":
	case "full":
		return lanes.Interruption{Turn: turn}, errors.Join(core.ErrUnwritten, core.ErrStorageFull)
	case "broken":
		return lanes.Interruption{Turn: turn}, errors.Join(core.ErrUnwritten, core.ErrStorage)
	default:
		return lanes.Interruption{}, core.ErrNothingRuns
	}
	return lanes.Interruption{Turn: "turn-1", Messages: []core.MessageID{"m-1"}, Took: 12 * time.Millisecond}, nil
}

func (f *fake) Reset(ctx context.Context, key core.ChannelKey) error {
	_, err := f.Channel(ctx, key)
	return err
}

func (f *fake) Settings(key core.ChannelKey) core.Settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.settings[key]
}

func (f *fake) ChangeSettings(_ context.Context, key core.ChannelKey, model, mode *string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	if mode != nil && *mode == "yolo" {
		return fmt.Errorf("%w: no such mode", core.ErrBadSetting)
	}
	s := f.settings[key]
	if model != nil {
		s.Model = *model
	}
	if mode != nil {
		s.PermissionMode = *mode
	}
	f.settings[key] = s
	return nil
}

func (f *fake) RemoveRule(_ context.Context, key core.ChannelKey, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.settings[key]
	n := len(s.Rules)
	if s.Rules = slices.DeleteFunc(s.Rules, func(r core.Rule) bool { return r.ID == id }); f.err == nil && len(s.Rules) == n {
		return core.ErrNotFound
	}
	f.settings[key] = s
	return f.err
}

func (f *fake) Approvals(context.Context) ([]core.Approval, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.approvals), f.err
}

func (f *fake) Decide(_ context.Context, id string, d core.Decision) (core.Approval, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return core.Approval{}, f.err
	}
	for i := range f.approvals {
		a := &f.approvals[i]
		switch {
		case a.ID != id:
		case a.State != core.ApprovalPending:
			return *a, core.ErrNotPending
		default:
			f.decisions = append(f.decisions, d)
			a.State, a.DecidedAt, a.Reason = core.ApprovalDenied, fakeStart.Add(time.Second), d.Message
			if d.Allow {
				a.State = core.ApprovalAllowed
			}
			return *a, nil
		}
	}
	return core.Approval{}, core.ErrNotFound
}

func (f *fake) ask(id, tool, input string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.approvals = append(f.approvals, core.Approval{
		ID: id, Channel: "http", Message: "01890000-0000-7000-8000-000000000001", Tool: tool, Input: json.RawMessage(input),
		Suggestion: json.RawMessage(`[{"type":"addRules"}]`), CreatedAt: fakeStart, ExpiresAt: fakeStart.Add(time.Minute), State: core.ApprovalPending,
	})
}

func (f *fake) Overview(context.Context) (core.Overview, error) {
	return core.Overview{Idle: 4, Hosts: 1, Limit: 60, Active: []core.ChannelStatus{
		{Key: "desk", State: core.StateRunning, Since: fakeStart, HostPID: 12, AgentPID: 13, Running: 1, Waiting: 2, Activity: "Bash"},
		{Key: "tg-1", State: core.StateParked, Since: fakeStart, Until: fakeStart.Add(time.Hour), Why: "The usage limit is reached.", Waiting: 1},
	}}, nil
}

func (f *fake) Balance(context.Context) (core.Balance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := core.Balance{Accepted: 10, Answered: 5, Failed: 2, Cancelled: 1, Waiting: 2}
	if f.uneven {
		b.Waiting++
	}
	return b, f.err
}

func (f *fake) Stats() lanes.Stats {
	return lanes.Stats{Turns: 8, TurnErrors: 2, Lanes: 3, Sessions: 2, Spending: core.Spending{Day: "2026-01-02", Spent: 1.25, Limit: 20}}
}
