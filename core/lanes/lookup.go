package lanes

import (
	"context"
	"fmt"
	"slices"

	"bareclaw/core"
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

	ledger  core.Ledger
	tickets *ticketIndex
	lanes   *registry
}

// Message returns the present state of a message.
func (k *Lookup) Message(ctx context.Context, id core.MessageID) (core.Message, error) {
	if t, ok := k.tickets.find(id); ok {
		select {
		case <-t.Done(): // perhaps before the ledger has the outcome
			return t.Result()
		default:
		}
	}
	return k.ledger.Message(ctx, id)
}

// Ticket returns a ticket for a message accepted earlier, or ErrNotFound.
func (k *Lookup) Ticket(ctx context.Context, id core.MessageID) (*core.Ticket, error) {
	if t, ok := k.tickets.find(id); ok {
		return t.Repeated(), nil
	}
	old, err := k.ledger.Message(ctx, id)
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
	if t, ok := k.tickets.find(id); ok {
		if msg, err := t.Wait(ctx); err == nil {
			return msg, nil
		}
		msg, err := k.ledger.Message(context.WithoutCancel(ctx), id)
		if err != nil || msg.State.Final() {
			return msg, err
		}
		return msg, context.Cause(ctx)
	}
	return k.ledger.Message(context.WithoutCancel(ctx), id) // ctx only bounds the waiting, not the read
}

// WaitOrPark is Wait, but also returns once the message waits on a parked channel.
func (k *Lookup) WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error) {
	if t, ok := k.tickets.find(id); ok {
		select {
		case <-t.Parked():
			if !k.QueuePosition(id).Until.IsZero() { // else the channel is no longer parked
				return k.ledger.Message(ctx, id)
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
	t, ok := k.tickets.find(id)
	if !ok {
		return core.QueuePosition{}
	}
	l, ok := k.lanes.find(t.Message.Channel)
	if !ok {
		return core.QueuePosition{}
	}
	var at core.QueuePosition
	if err := l.call(context.Background(), func() { at = l.placeOf(id) }); err != nil {
		return core.QueuePosition{} // shutting down, or no longer waiting
	}
	return at
}

// OpenMessages returns the adapter's messages without an outcome, oldest first.
func (k *Lookup) OpenMessages(ctx context.Context, adapter string) ([]core.Message, error) {
	all, _, err := k.ledger.Open(ctx)
	return slices.DeleteFunc(all, func(msg core.Message) bool { return msg.Adapter != adapter }), err
}

// Trace returns the timeline of one message.
func (k *Lookup) Trace(ctx context.Context, id core.MessageID) (core.Trace, error) {
	msg, err := k.Message(ctx, id)
	if err != nil {
		return core.Trace{}, err
	}
	t := core.Trace{Message: msg}
	if t.Deliveries, err = k.ledger.MessageDeliveries(ctx, id); err != nil {
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
	t.Approvals, err = k.ledger.TurnApprovals(ctx, turn.ID)
	return t, err
}

// turnNow returns a turn with the timeline up to now.
func (k *Lookup) turnNow(ctx context.Context, key core.ChannelKey, id core.TurnID) (core.Turn, error) {
	turn, err := k.ledger.Turn(ctx, id)
	if err != nil || !turn.EndedAt.IsZero() {
		return turn, err
	}
	if l, ok := k.lanes.find(key); ok {
		if turn.Marks = l.marks(ctx, id); turn.Marks != nil {
			return turn, nil
		}
	}
	return k.ledger.Turn(ctx, id) // the turn has ended meanwhile
}
