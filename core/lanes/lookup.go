package lanes

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"bareclaw/core"
	"bareclaw/internal/shortid"
	"bareclaw/internal/wait"
)

// History is the part of the ledger that adapters read unchanged.
type History interface {
	Messages(ctx context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error)
	Backgrounds(ctx context.Context, key core.ChannelKey, limit int) ([]core.Background, error)
	Balance(ctx context.Context) (core.Balance, error)
}

// A Lookup finds messages and waits for outcomes. All methods are safe for concurrent use.
type Lookup struct {
	History // in the ledger

	m *Manager
}

// Message returns the present state of a message.
func (k *Lookup) Message(ctx context.Context, id core.MessageID) (core.Message, error) {
	if t, ok := k.m.tickets.find(id); ok && wait.IsClosed(t.Done()) { // perhaps before the ledger has the outcome
		return t.Result()
	}
	return k.m.o.Ledger.Message(ctx, id)
}

// Find returns the id that text stands for: an id, or the beginning or the end of one. A complete
// id need not be known. The error for no id, or several, is a [*shortid.NoMatchError].
func (k *Lookup) Find(ctx context.Context, text string) (core.MessageID, error) {
	if len(text) >= shortid.Full {
		return core.MessageID(text), nil
	}
	ids, err := k.m.o.Ledger.MessageIDs(ctx, text, maxMatches)
	if err != nil {
		return "", err
	}
	id, err := shortid.Find(ids, func(id *core.MessageID) string { return string(*id) }, "message", text)
	if err != nil {
		return "", err
	}
	return *id, nil
}

// maxMatches bounds how many ids of one text are counted.
const maxMatches = 100

// Ticket returns a ticket for a message accepted earlier, or ErrNotFound.
func (k *Lookup) Ticket(ctx context.Context, id core.MessageID) (*core.Ticket, error) {
	if t, ok := k.m.tickets.find(id); ok {
		return t.Repeated(), nil
	}
	old, err := k.m.o.Ledger.Message(ctx, id)
	if err != nil {
		return nil, err
	}
	t := core.NewTicket(old).Repeated()
	t.Resolve(&old)
	return t, nil
}

// Wait returns the message once there is an outcome. When ctx ends first, Wait returns the
// message in the present state with the context's error.
func (k *Lookup) Wait(ctx context.Context, id core.MessageID) (core.Message, error) {
	t, open := k.m.tickets.find(id)
	if open {
		if msg, err := t.Wait(ctx); err == nil {
			return msg, nil
		}
	}
	msg, err := k.m.o.Ledger.Message(context.WithoutCancel(ctx), id) // ctx only bounds the waiting, not the read
	if open && err == nil && !msg.State.Final() {
		err = context.Cause(ctx)
	}
	return msg, err
}

// WaitOrPark is Wait, but also returns once the message waits on a parked channel.
func (k *Lookup) WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error) {
	if t, ok := k.m.tickets.find(id); ok {
		select {
		case <-t.Parked():
			if !k.QueuePosition(id).Until.IsZero() { // else the channel is no longer parked
				return k.m.o.Ledger.Message(ctx, id)
			}
		case <-t.Done():
		case <-ctx.Done():
		}
	}
	return k.Wait(ctx, id)
}

// QueuePosition returns the message's position in the channel's queue, or the zero value for
// a message unknown or not waiting.
func (k *Lookup) QueuePosition(id core.MessageID) core.QueuePosition {
	t, ok := k.m.tickets.find(id)
	if !ok {
		return core.QueuePosition{}
	}
	l, ok := k.m.lanes.find(t.Message.Channel)
	if !ok {
		return core.QueuePosition{}
	}
	at, _ := ask(context.Background(), l.channel, func() core.QueuePosition { return l.queue.placeOf(id) }) // after an error: shutting down, or no longer waiting
	return at
}

// OpenMessages returns the adapter's messages without an outcome, oldest first.
func (k *Lookup) OpenMessages(ctx context.Context, adapter string) ([]core.Message, error) {
	all, _, err := k.m.o.Ledger.Open(ctx)
	return slices.DeleteFunc(all, func(msg core.Message) bool { return msg.Adapter != adapter }), err
}

// Trace returns the timeline of one message.
func (k *Lookup) Trace(ctx context.Context, id core.MessageID) (core.Trace, error) {
	msg, err := k.Message(ctx, id)
	if err != nil {
		return core.Trace{}, err
	}
	t := core.Trace{Message: msg}
	if t.Deliveries, err = k.m.o.Ledger.MessageDeliveries(ctx, id); err != nil {
		return core.Trace{}, fmt.Errorf("read the deliveries of message %s: %w", id, err)
	}
	if msg.Turn == "" {
		t.QueuePosition = k.QueuePosition(id)
		return t, nil
	}
	turn, err := k.turnNow(ctx, msg.Channel, msg.Turn)
	if err != nil {
		return core.Trace{}, fmt.Errorf("read the turn of message %s: %w", id, err)
	}
	t.Turn, t.Members = &turn, turn.Members
	t.Approvals, err = k.m.o.Ledger.TurnApprovals(ctx, turn.ID)
	return t, err
}

func (k *Lookup) turnNow(ctx context.Context, key core.ChannelKey, id core.TurnID) (core.Turn, error) {
	turn, err := k.m.o.Ledger.Turn(ctx, id)
	if err != nil || !turn.EndedAt.IsZero() {
		return turn, err
	}
	if l, ok := k.m.lanes.find(key); ok {
		marks := func() []core.Mark {
			if f := l.turns.find(id); f != nil {
				return slices.Clone(f.turn.Marks)
			}
			return nil
		}
		if turn.Marks, _ = ask(ctx, l.channel, marks); turn.Marks != nil {
			return turn, nil
		}
	}
	return k.m.o.Ledger.Turn(ctx, id) // the turn has ended meanwhile
}

// A ticketIndex holds the tickets of all messages without an outcome in the ledger.
type ticketIndex struct {
	mu   sync.Mutex
	open map[core.MessageID]*core.Ticket
}

func (d *ticketIndex) add(t *core.Ticket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[t.Message.ID] = t
}

func (d *ticketIndex) find(id core.MessageID) (*core.Ticket, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.open[id]
	return t, ok
}

// resolve closes the tickets with the outcomes, which must not change any more. Carriers of
// a reply text come first: a caller referred to the carrier finds the carrier's outcome.
func (d *ticketIndex) resolve(outcomes []*core.Message) {
	for _, carried := range [...]bool{false, true} {
		for _, m := range outcomes {
			if t, ok := d.find(m.ID); ok && (m.Reply.Into != "") == carried {
				t.Resolve(m)
			}
		}
	}
}

// drop removes the ticket of a refused message, or of a message with an outcome in the
// ledger.
func (d *ticketIndex) drop(id core.MessageID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, id)
}

func (d *ticketIndex) unresolved() map[core.ChannelKey][]core.MessageID {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[core.ChannelKey][]core.MessageID{}
	for id, t := range d.open {
		if !wait.IsClosed(t.Done()) {
			all[t.Message.Channel] = append(all[t.Message.Channel], id)
		}
	}
	return all
}
