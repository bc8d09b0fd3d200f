package core

import (
	"context"
	"sync/atomic"
)

// A Ticket stands for one submitted message until the message has its outcome. Copies of
// a ticket share what becomes of the message.
type Ticket struct {
	// Message is the message as it was accepted.
	Message Message
	// Existing says that the source key was known: Message is the one that was
	// accepted under the key before.
	Existing bool

	*future
}

// A future is what becomes of a message. Its lane writes, everybody may read.
type future struct {
	accepted chan struct{}                 // closed when the message is durable, or refused
	refusal  error                         // written before accepted is closed
	parked   atomic.Pointer[chan struct{}] // closed while the message waits on a parked channel
	position atomic.Pointer[QueuePosition] // as it was then; set before parked is closed
	done     chan struct{}                 // closed when there is an outcome, or the message is refused
	outcome  *Message                      // written once, before done is closed; nil when refused
}

// NewTicket returns the ticket of a message that is about to be accepted.
func NewTicket(m Message) *Ticket {
	f := &future{accepted: make(chan struct{}), done: make(chan struct{})}
	parked := make(chan struct{})
	f.parked.Store(&parked)
	return &Ticket{Message: m, future: f}
}

// Repeated returns the ticket for a sender who submitted the same message again.
func (t *Ticket) Repeated() *Ticket {
	return &Ticket{Message: t.Message, Existing: true, future: t.future}
}

// On returns the ticket with the message on another channel.
func (t *Ticket) On(key ChannelKey) *Ticket {
	moved := *t
	moved.Message.Channel = key
	return &moved
}

// Accept says that the message is accepted, or why it is refused.
func (f *future) Accept(refusal error) {
	f.refusal = refusal
	close(f.accepted)
	if refusal != nil {
		close(f.done)
	}
}

// Accepted is closed when the message is durable, or refused.
func (f *future) Accepted() <-chan struct{} { return f.accepted }

// Refusal returns why the message is refused; nil if it is accepted. It is valid once
// Accepted is closed.
func (f *future) Refusal() error { return f.refusal }

// Park says that the message waits on a parked channel, and where.
func (f *future) Park(at QueuePosition) {
	parked := *f.parked.Load()
	if !isClosed(parked) {
		f.position.Store(&at)
		close(parked)
	}
}

// Unpark says that the channel goes on: readers of Parked learn of the next park.
func (f *future) Unpark() {
	if isClosed(*f.parked.Load()) {
		parked := make(chan struct{})
		f.parked.Store(&parked)
	}
}

// Parked is closed when the message is accepted and its channel is parked: the
// outcome will take its time. It stays closed when the channel goes on; then there
// is another one.
func (f *future) Parked() <-chan struct{} { return *f.parked.Load() }

// QueuePosition returns where the message waited when its channel was parked last, and
// why. It is valid once Parked is closed.
func (f *future) QueuePosition() QueuePosition { return *f.position.Load() }

// Resolve gives the message its outcome, which must not change any more.
func (f *future) Resolve(outcome *Message) {
	f.outcome = outcome
	close(f.done)
}

// Done is closed when the message has its outcome, or is refused.
func (f *future) Done() <-chan struct{} { return f.done }

// Outcome returns the message with its outcome. It is valid once Done is closed.
func (f *future) Outcome() Message { return *f.outcome }

// Result returns the message with its outcome, or why it was refused. It is valid once
// Done is closed.
func (f *future) Result() (Message, error) {
	if f.refusal != nil {
		return Message{}, f.refusal
	}
	return *f.outcome, nil
}

// Wait returns the Result once there is one, or the context's error. It prefers the
// result if both are there.
func (f *future) Wait(ctx context.Context) (Message, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		if !isClosed(f.done) {
			return Message{}, context.Cause(ctx)
		}
	}
	return f.Result()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
