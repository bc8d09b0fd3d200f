package lanes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"bareclaw/core"
)

// landed waits for what was written before: reads see it.
func (l *fakeLedger) landed(ctx context.Context) error {
	done := make(chan struct{})
	l.mu.Lock()
	l.queue = append(l.queue, fakeWrite{marker: true, done: func(error) { close(done) }})
	l.changed.Broadcast()
	l.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *fakeLedger) Message(ctx context.Context, id core.MessageID) (core.Message, error) {
	if err := l.landed(ctx); err != nil {
		return core.Message{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.messages[id]; m != nil {
		return *m, nil
	}
	return core.Message{}, fmt.Errorf("message %s: %w", id, core.ErrNotFound)
}

func (l *fakeLedger) Messages(ctx context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []core.Message
	for _, id := range slices.Backward(l.accepted) {
		if m := l.messages[id]; m.Channel == key && (before == "" || id < before) && len(out) < limit {
			out = append(out, *m)
		}
	}
	return out, nil
}

func (l *fakeLedger) Turn(ctx context.Context, id core.TurnID) (core.Turn, error) {
	if err := l.landed(ctx); err != nil {
		return core.Turn{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.turns[id]; t != nil {
		return *cloneTurn(t), nil
	}
	return core.Turn{}, fmt.Errorf("turn %s: %w", id, core.ErrNotFound)
}

func (l *fakeLedger) Open(ctx context.Context) ([]core.Message, []core.Turn, error) {
	if err := l.landed(ctx); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var messages []core.Message
	var turns []core.Turn
	for _, id := range l.accepted {
		if m := l.messages[id]; !m.State.Final() {
			messages = append(messages, *m)
		}
	}
	slices.SortStableFunc(messages, func(a, b core.Message) int { return a.Rank - b.Rank })
	for _, id := range l.begun {
		if t := l.turns[id]; t.EndedAt.IsZero() {
			turns = append(turns, *cloneTurn(t))
		}
	}
	return messages, turns, nil
}

func (l *fakeLedger) SessionUse(ctx context.Context, sessionID string) (core.SessionUse, error) {
	if err := l.landed(ctx); err != nil {
		return core.SessionUse{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unreadable != nil {
		return core.SessionUse{}, l.unreadable
	}
	return l.uses[sessionID], nil
}

// setUnreadable makes reads of sessions fail with err, or none if err is nil.
func (l *fakeLedger) setUnreadable(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unreadable = err
}

func (l *fakeLedger) Settings(ctx context.Context) (map[core.ChannelKey]core.Settings, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.settings), nil
}

func (l *fakeLedger) Spent(ctx context.Context, day string) (float64, error) {
	if err := l.landed(ctx); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent[day], nil
}

func (l *fakeLedger) Approval(ctx context.Context, id string) (core.Approval, error) {
	if err := l.landed(ctx); err != nil {
		return core.Approval{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.approvals[id]; a != nil {
		return *a, nil
	}
	return core.Approval{}, fmt.Errorf("approval %s: %w", id, core.ErrNotFound)
}

func (l *fakeLedger) approvalsOf(ctx context.Context, match func(*core.Approval) bool) ([]core.Approval, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []core.Approval
	for _, id := range l.asked {
		if a := l.approvals[id]; match(a) {
			out = append(out, *a)
		}
	}
	return out, nil
}

func (l *fakeLedger) PendingApprovals(ctx context.Context) ([]core.Approval, error) {
	return l.approvalsOf(ctx, func(a *core.Approval) bool { return a.State == core.ApprovalPending })
}

func (l *fakeLedger) TurnApprovals(ctx context.Context, id core.TurnID) ([]core.Approval, error) {
	return l.approvalsOf(ctx, func(a *core.Approval) bool { return a.Turn == id })
}

func (l *fakeLedger) Backgrounds(ctx context.Context, key core.ChannelKey, limit int) ([]core.Background, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []core.Background
	for _, b := range slices.Backward(l.backgrounds) {
		if b.Channel == key && len(out) < limit {
			out = append(out, b)
		}
	}
	return out, nil
}

func (l *fakeLedger) Channels(ctx context.Context) ([]core.ChannelRecord, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	records := map[core.ChannelKey]core.ChannelRecord{}
	for _, id := range l.accepted {
		m := l.messages[id]
		r := records[m.Channel]
		records[m.Channel] = core.ChannelRecord{Key: m.Channel, Messages: r.Messages + 1, LastAt: m.ReceivedAt}
	}
	return slices.Collect(maps.Values(records)), nil
}

func (l *fakeLedger) Balance(ctx context.Context) (core.Balance, error) {
	if err := l.landed(ctx); err != nil {
		return core.Balance{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var b core.Balance
	for _, m := range l.messages {
		b.Accepted++
		switch m.State {
		case core.Answered:
			b.Answered++
		case core.Failed:
			b.Failed++
		case core.Cancelled:
			b.Cancelled++
		case core.Waiting, core.Running:
			b.Waiting++
		}
	}
	return b, nil
}

func (l *fakeLedger) Usage(ctx context.Context, key core.ChannelKey, since time.Time) (core.Usage, error) {
	if err := l.landed(ctx); err != nil {
		return core.Usage{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var u core.Usage
	for _, m := range l.messages {
		if m.Channel != key || !m.State.Final() || m.Reply.Coalesced || m.Turn == "" {
			continue
		}
		u.Turns, u.Spent = u.Turns+1, u.Spent+m.Reply.CostUSD
		if !m.EndedAt.Before(since) {
			u.TurnsToday, u.SpentToday = u.TurnsToday+1, u.SpentToday+m.Reply.CostUSD
		}
	}
	return u, nil
}
