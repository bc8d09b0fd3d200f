package core

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
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

func (l *fakeLedger) Message(ctx context.Context, id MessageID) (Message, error) {
	if err := l.landed(ctx); err != nil {
		return Message{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.messages[id]; m != nil {
		return *m, nil
	}
	return Message{}, fmt.Errorf("message %s: %w", id, ErrNotFound)
}

func (l *fakeLedger) Messages(ctx context.Context, key ChannelKey, limit int, before MessageID) ([]Message, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Message
	for _, id := range slices.Backward(l.accepted) {
		if m := l.messages[id]; m.Channel == key && (before == "" || id < before) && len(out) < limit {
			out = append(out, *m)
		}
	}
	return out, nil
}

func (l *fakeLedger) Turn(ctx context.Context, id TurnID) (Turn, error) {
	if err := l.landed(ctx); err != nil {
		return Turn{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.turns[id]; t != nil {
		return *cloneTurn(t), nil
	}
	return Turn{}, fmt.Errorf("turn %s: %w", id, ErrNotFound)
}

func (l *fakeLedger) Open(ctx context.Context) ([]Message, []Turn, error) {
	if err := l.landed(ctx); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var messages []Message
	var turns []Turn
	for _, id := range l.accepted {
		if m := l.messages[id]; !m.State.Final() {
			messages = append(messages, *m)
		}
	}
	slices.SortStableFunc(messages, func(a, b Message) int { return a.Rank - b.Rank })
	for _, id := range l.begun {
		if t := l.turns[id]; t.EndedAt.IsZero() {
			turns = append(turns, *cloneTurn(t))
		}
	}
	return messages, turns, nil
}

func (l *fakeLedger) SessionUse(ctx context.Context, sessionID string) (SessionUse, error) {
	if err := l.landed(ctx); err != nil {
		return SessionUse{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unreadable != nil {
		return SessionUse{}, l.unreadable
	}
	return l.uses[sessionID], nil
}

// setUnreadable makes reads of sessions fail with err, or none if err is nil.
func (l *fakeLedger) setUnreadable(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unreadable = err
}

func (l *fakeLedger) Settings(ctx context.Context) (map[ChannelKey]Settings, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.settings), nil
}

func (l *fakeLedger) Moves(ctx context.Context) ([]Move, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.moves), nil
}

func (l *fakeLedger) Spent(ctx context.Context, day string) (float64, error) {
	if err := l.landed(ctx); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent[day], nil
}

func (l *fakeLedger) Approval(ctx context.Context, id string) (Approval, error) {
	if err := l.landed(ctx); err != nil {
		return Approval{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.approvals[id]; a != nil {
		return *a, nil
	}
	return Approval{}, fmt.Errorf("approval %s: %w", id, ErrNotFound)
}

func (l *fakeLedger) approvalsOf(ctx context.Context, match func(*Approval) bool) ([]Approval, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Approval
	for _, id := range l.asked {
		if a := l.approvals[id]; match(a) {
			out = append(out, *a)
		}
	}
	return out, nil
}

func (l *fakeLedger) PendingApprovals(ctx context.Context) ([]Approval, error) {
	return l.approvalsOf(ctx, func(a *Approval) bool { return a.State == ApprovalPending })
}

func (l *fakeLedger) TurnApprovals(ctx context.Context, id TurnID) ([]Approval, error) {
	return l.approvalsOf(ctx, func(a *Approval) bool { return a.Turn == id })
}

func (l *fakeLedger) Backgrounds(ctx context.Context, key ChannelKey, limit int) ([]Background, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Background
	for _, b := range slices.Backward(l.backgrounds) {
		if b.Channel == key && len(out) < limit {
			out = append(out, b)
		}
	}
	return out, nil
}

func (l *fakeLedger) Channels(ctx context.Context) ([]ChannelRecord, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	records := map[ChannelKey]ChannelRecord{}
	for _, id := range l.accepted {
		m := l.messages[id]
		r := records[m.Channel]
		records[m.Channel] = ChannelRecord{Key: m.Channel, Messages: r.Messages + 1, LastAt: m.ReceivedAt}
	}
	return slices.Collect(maps.Values(records)), nil
}

func (l *fakeLedger) Balance(ctx context.Context) (Balance, error) {
	if err := l.landed(ctx); err != nil {
		return Balance{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var b Balance
	for _, m := range l.messages {
		b.Accepted++
		switch m.State {
		case Answered:
			b.Answered++
		case Failed:
			b.Failed++
		case Cancelled:
			b.Cancelled++
		case Waiting, Running:
			b.Waiting++
		}
	}
	return b, nil
}

func (l *fakeLedger) Usage(ctx context.Context, key ChannelKey, since time.Time) (Usage, error) {
	if err := l.landed(ctx); err != nil {
		return Usage{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var u Usage
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
