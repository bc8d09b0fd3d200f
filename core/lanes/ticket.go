package lanes

import (
	"sync"

	"bareclaw/core"
)

// A ticketIndex holds the tickets of all messages without an outcome in the ledger.
type ticketIndex struct {
	mu   sync.Mutex
	open map[core.MessageID]*core.Ticket
}

func newTicketIndex() *ticketIndex { return &ticketIndex{open: map[core.MessageID]*core.Ticket{}} }

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

// unresolved returns the messages with an unresolved ticket, by channel.
func (d *ticketIndex) unresolved() map[core.ChannelKey][]core.MessageID {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[core.ChannelKey][]core.MessageID{}
	for id, t := range d.open {
		select {
		case <-t.Done():
		default:
			all[t.Message.Channel] = append(all[t.Message.Channel], id)
		}
	}
	return all
}
