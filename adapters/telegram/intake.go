package telegram

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// An arrival is an update on its way: on record, and not handled yet.
type arrival struct {
	key    string // of the record, and the source key of what is submitted
	update models.Update
	// receivedAt is when it was put on record, by this machine's clock.
	receivedAt time.Time
}

// The intake keeps the updates of a conversation in order and lets conversations
// be independent. What must not wait behind others, such as a tap on a button,
// is handled beside them.
type intake struct {
	adapter *Adapter

	mu    sync.Mutex
	lines map[place]*line // those with something to do
}

// A line is what came from one conversation. One goroutine handles it.
type line struct {
	waiting []*arrival
	more    chan struct{} // signalled with each arrival
}

// add takes an update over. It does not block.
func (n *intake) add(in core.Inbound) {
	r := &arrival{key: in.ID, receivedAt: in.ReceivedAt}
	if err := json.Unmarshal(in.Body, &r.update); err != nil {
		n.adapter.o.Log.Error("telegram: an update cannot be read; it is left out", "update", in.ID, "err", err)
		n.adapter.start(func(ctx context.Context) { n.adapter.handled(ctx, r) })
		return
	}
	p, inOrder := r.place()
	if !inOrder {
		n.adapter.start(func(ctx context.Context) { n.adapter.handleAside(ctx, r) })
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.lines[p]
	if l == nil {
		l = &line{more: make(chan struct{}, 1)}
		if n.lines == nil {
			n.lines = map[place]*line{}
		}
		n.lines[p] = l
		n.adapter.start(func(ctx context.Context) { n.run(ctx, p, l) })
	}
	l.waiting = append(l.waiting, r)
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// run handles a line until it is empty.
func (n *intake) run(ctx context.Context, p place, l *line) {
	for {
		batch := n.next(ctx, p, l)
		if len(batch) == 0 {
			return
		}
		n.adapter.handle(ctx, p, batch)
	}
}

// next takes from the line what is to be handled together; nothing when it is
// empty, which ends it, or when ctx ends.
func (n *intake) next(ctx context.Context, p place, l *line) []*arrival {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() != nil || len(l.waiting) == 0 {
		delete(n.lines, p)
		return nil
	}
	r := l.waiting[0]
	l.waiting = l.waiting[1:]
	return []*arrival{r}
}

// place returns the conversation that an update belongs to, and whether it waits
// for those that came before.
func (r *arrival) place() (p place, inOrder bool) {
	switch u := &r.update; {
	case u.Message != nil:
		return placeOf(u.Message), !isStop(u.Message)
	case u.EditedMessage != nil:
		return placeOf(u.EditedMessage), true
	case u.MyChatMember != nil:
		return place{chat: u.MyChatMember.Chat.ID}, true
	}
	return place{}, false
}

// handled records that nothing is left to be done about arrivals. Where that fails
// they are handled once more after the next start, which their keys make harmless.
func (a *Adapter) handled(ctx context.Context, rs ...*arrival) {
	ids := make([]string, len(rs))
	for i, r := range rs {
		ids[i] = r.key
	}
	if err := a.o.Core.Handled(ctx, ids...); err != nil && ctx.Err() == nil {
		a.o.Log.Error("telegram: not noted what was handled", "err", err)
	}
}
