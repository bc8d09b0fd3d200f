package core

import (
	"context"
	"sync"
	"sync/atomic"
)

// A Ticket stands for one accepted message until it has its outcome.
type Ticket struct {
	// Message is the message as it was accepted.
	Message Message
	// Existing says that the source key was known: Message is the one that was
	// accepted under it before.
	Existing bool

	*future
}

type future struct {
	accepted chan struct{}                 // closed when the message is durable, or refused
	refusal  error                         // written before accepted is closed; nothing follows it
	parked   atomic.Pointer[chan struct{}] // closed when the message is found to wait for what parks its channel
	place    atomic.Pointer[Place]         // as it was then; set before that
	done     chan struct{}                 // closed when there is an outcome, or the message is refused
	outcome  *Message                      // written once, before done is closed; nil when refused
}

func newTicket(m Message) *Ticket {
	f := &future{accepted: make(chan struct{}), done: make(chan struct{})}
	parked := make(chan struct{})
	f.parked.Store(&parked)
	return &Ticket{Message: m, future: f}
}

// admit says that the message is accepted, or why it is refused.
func (f *future) admit(refusal error) {
	f.refusal = refusal
	close(f.accepted)
	if refusal != nil {
		close(f.done)
	}
}

// park says that the message waits for what parks its channel, and where. Only its
// lane calls it.
func (f *future) park(at Place) {
	parked := *f.parked.Load()
	select {
	case <-parked: // it is known; whoever was told has gone
	default:
		f.place.Store(&at)
		close(parked)
	}
}

// unpark says that the channel goes on: who begins to wait now is told of the next
// park. Only its lane calls it.
func (f *future) unpark() {
	select {
	case <-*f.parked.Load():
		parked := make(chan struct{})
		f.parked.Store(&parked)
	default:
	}
}

// Parked is closed when the message is accepted and its channel is parked: the
// outcome will take its time. It stays closed when the channel goes on; then there
// is another one.
func (f *future) Parked() <-chan struct{} { return *f.parked.Load() }

// Place returns where the message waited when its channel was parked last, and why.
// It is valid once Parked is closed.
func (f *future) Place() Place { return *f.place.Load() }

// Done is closed when the outcome is there.
func (f *future) Done() <-chan struct{} { return f.done }

// Outcome returns the message with its outcome. It is valid once Done is closed.
func (f *future) Outcome() Message { return *f.outcome }

// Ticket returns a ticket of a message that was accepted before. ErrNotFound if
// there is no such message.
func (m *ProcessManager) Ticket(ctx context.Context, id MessageID) (*Ticket, error) {
	if t, ok := m.desk.find(id); ok {
		return &Ticket{Message: t.Message, Existing: true, future: t.future}, nil
	}
	old, err := m.o.Ledger.Message(ctx, id)
	if err != nil {
		return nil, err
	}
	t := newTicket(old)
	t.Existing, t.outcome = true, &old
	close(t.done)
	return t, nil
}

// wait returns once there is an outcome, or with the context's error. An outcome that is
// there is returned also if the context has ended.
func (f *future) wait(ctx context.Context) (Message, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		if !isClosed(f.done) {
			return Message{}, context.Cause(ctx)
		}
	}
	return f.end()
}

// end returns what became of the message. It is valid once done is closed.
func (f *future) end() (Message, error) {
	if f.refusal != nil {
		return Message{}, f.refusal
	}
	return *f.outcome, nil
}

// A desk knows the tickets of all messages that have no outcome yet, or one that
// the ledger does not have yet.
type desk struct {
	mu   sync.Mutex
	open map[MessageID]*Ticket
}

func (d *desk) add(t *Ticket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[MessageID]*Ticket{}
	}
	d.open[t.Message.ID] = t
}

func (d *desk) find(id MessageID) (*Ticket, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.open[id]
	return t, ok
}

// settle closes the tickets with the outcomes, which must not change any more. Those that
// carry a text come first: who learns that another message was answered with it finds it.
func (d *desk) settle(outcomes []*Message) {
	for _, carried := range [...]bool{false, true} {
		for _, m := range outcomes {
			if t, ok := d.find(m.ID); ok && (m.Reply.Into != "") == carried {
				t.outcome = m
				close(t.done)
			}
		}
	}
}

// rekey notes that a message is on another channel now.
func (d *desk) rekey(id MessageID, key ChannelKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t, ok := d.open[id]; ok {
		moved := *t
		moved.Message.Channel = key
		d.open[id] = &moved
	}
}

// drop forgets the ticket of a message that was refused, or whose outcome is in
// the ledger.
func (d *desk) drop(id MessageID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, id)
}
