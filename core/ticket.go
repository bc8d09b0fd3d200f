package core

import (
	"context"
	"sync/atomic"
)

// A Ticket represents a submitted message until the message has an outcome. Copies of a
// ticket share the outcome.
type Ticket struct {
	// Message is the message at acceptance.
	Message Message
	// Existing reports that the source key was already known: Message was accepted earlier
	// under the same key.
	Existing bool

	*future
}

// A future is the shared state of a message's tickets. The message's lane writes; any
// goroutine may read.
type future struct {
	accepted chan struct{}                 // closed when the message is durable, or refused
	refusal  error                         // written before accepted is closed
	isParked bool                          // the message waits on a parked channel; used by the lane alone
	parked   atomic.Pointer[chan struct{}] // closed while isParked
	position atomic.Pointer[QueuePosition] // position at the time of parking; set before parked is closed
	done     chan struct{}                 // closed when the message has an outcome, or is refused
	outcome  *Message                      // written once, before done is closed; nil when refused
}

// NewTicket returns the ticket of a message that is about to be accepted.
func NewTicket(m Message) *Ticket {
	f := &future{accepted: make(chan struct{}), done: make(chan struct{})}
	parked := make(chan struct{})
	f.parked.Store(&parked)
	return &Ticket{Message: m, future: f}
}

// Repeated returns the ticket for a repeated submission of the same message.
func (t *Ticket) Repeated() *Ticket {
	return &Ticket{Message: t.Message, Existing: true, future: t.future}
}

// Accept marks the message as accepted, or as refused with the error refusal.
func (f *future) Accept(refusal error) {
	f.refusal = refusal
	close(f.accepted)
	if refusal != nil {
		close(f.done)
	}
}

// Accepted is closed when the message is durable, or refused.
func (f *future) Accepted() <-chan struct{} { return f.accepted }

// Refusal returns the reason for refusing the message; nil for an accepted message. Valid
// once Accepted is closed.
func (f *future) Refusal() error { return f.refusal }

// Park marks the message as waiting on a parked channel, at the position at.
func (f *future) Park(at QueuePosition) {
	if !f.isParked {
		f.isParked = true
		f.position.Store(&at)
		close(*f.parked.Load())
	}
}

// Unpark records that the channel continues. A later Park closes a new Parked channel.
func (f *future) Unpark() {
	if f.isParked {
		f.isParked = false
		parked := make(chan struct{})
		f.parked.Store(&parked)
	}
}

// Parked returns a channel closed when the message is accepted and its channel is parked:
// the outcome will be late. The returned channel stays closed after Unpark; Parked then
// returns a new channel.
func (f *future) Parked() <-chan struct{} { return *f.parked.Load() }

// QueuePosition returns the message's position at the last parking of the channel, and the
// reason. Valid once Parked is closed.
func (f *future) QueuePosition() QueuePosition { return *f.position.Load() }

// Resolve sets the outcome of the message. The outcome must not be modified afterwards.
func (f *future) Resolve(outcome *Message) {
	f.outcome = outcome
	close(f.done)
}

// Done is closed when the message has its outcome, or is refused.
func (f *future) Done() <-chan struct{} { return f.done }

// Outcome returns the message with its outcome. Valid once Done is closed.
func (f *future) Outcome() Message { return *f.outcome }

// Result returns the message with its outcome, or the reason for its refusal. Valid once
// Done is closed.
func (f *future) Result() (Message, error) {
	if f.refusal != nil {
		return Message{}, f.refusal
	}
	return *f.outcome, nil
}

// Wait waits for Result, or returns the cause of the context's end. Wait prefers the result
// if both are available.
func (f *future) Wait(ctx context.Context) (Message, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		select {
		case <-f.done:
		default:
			return Message{}, context.Cause(ctx)
		}
	}
	return f.Result()
}
