package lanes

import (
	"context"
	"sync"

	"bareclaw/core"
)

// Ticket returns a ticket for a message accepted earlier, or ErrNotFound.
func (m *Manager) Ticket(ctx context.Context, id core.MessageID) (*core.Ticket, error) {
	if t, ok := m.tickets.find(id); ok {
		return t.Repeated(), nil
	}
	old, err := m.o.Ledger.Message(ctx, id)
	if err != nil {
		return nil, err
	}
	t := core.NewTicket(old).Repeated()
	t.Resolve(&old)
	return t, nil
}

// A ticketIndex holds the tickets of all messages without an outcome in the ledger.
type ticketIndex struct {
	mu   sync.Mutex
	open map[core.MessageID]*core.Ticket
}

func (d *ticketIndex) add(t *core.Ticket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[core.MessageID]*core.Ticket{}
	}
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

// rekey records a message's move to another channel.
func (d *ticketIndex) rekey(id core.MessageID, key core.ChannelKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t, ok := d.open[id]; ok {
		d.open[id] = t.On(key)
	}
}

// drop removes the ticket of a refused message, or of a message with an outcome in the
// ledger.
func (d *ticketIndex) drop(id core.MessageID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, id)
}
