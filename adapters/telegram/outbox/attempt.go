package outbox

import (
	"context"
	"errors"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"

	"github.com/go-telegram/bot"
)

// sendPart sends a part and returns the resulting message. sendPart blocks until
// Telegram accepts the part or refuses the part for good, or the adapter ends.
func (o *Outbox) sendPart(to *chats.Address, out *outgoing, part Part) (int, error) {
	done := make(chan error, 1)
	var id int // written by an attempt, read after the attempt
	err := o.o.Sender.submit(throttle.Job{
		Chat: to.Chat, Group: to.Group(), Lane: to.Thread, Class: throttle.Durable, Tried: out.Attempts, Since: out.CreatedAt,
		Do: func(ctx context.Context, try throttle.Try) (err error) {
			id, err = o.attempt(ctx, to, out, part)
			if err != nil && !errors.Is(err, ErrClosing) {
				if err := o.o.Ledger.Delivered(ctx, o.failedAttempt(out, try.Number, err)); err != nil {
					o.o.Log.Debug("telegram: failed attempt not recorded", "err", err)
				}
			}
			return err
		},
		Done: func(err error) { done <- err },
	})
	if err != nil {
		return 0, err
	}
	err = <-done
	return id, err
}

// attempt sends a part once. If the chat has moved or the topic is gone, attempt sends
// to the new chat or to the chat itself.
func (o *Outbox) attempt(ctx context.Context, to *chats.Address, out *outgoing, part Part) (id int, err error) {
	if !o.begin(out) {
		return 0, errWithdrawn
	}
	err = o.o.Sender.callWithin(ctx, timeLimit(part), func(ctx context.Context) error {
		id, err = part.Send(ctx, o.o.Sender.Client, *to)
		moved := (*bot.MigrateError)(nil)
		switch {
		case errors.As(err, &moved):
			to.Chat, to.Thread = int64(moved.MigrateToChatID), 0
		case to.Thread != 0 && out.Kind != KindPush && botapi.Refused(err, "message thread not found", "topic_deleted", "topic_closed"):
			to.Thread = 0
		default:
			o.attempted(out, err)
			return err
		}
		id, err = part.Send(ctx, o.o.Sender.Client, *to)
		o.attempted(out, err)
		return err
	})
	if errors.Is(err, ErrClosing) { // nothing was sent
		o.attempted(out, err)
	}
	return id, err
}

// timeLimit bounds an attempt.
func timeLimit(p Part) time.Duration {
	if slow, ok := p.(interface{ TimeLimit() time.Duration }); ok {
		return slow.TimeLimit()
	}
	return botapi.CallTimeout
}

// refresh updates a delivery from the recorded state, and returns false if the delivery
// was withdrawn.
func (o *Outbox) refresh(out *outgoing, d core.Delivery) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if out.State != core.DeliveryPending {
		return false
	}
	out.Delivery = d
	return true
}

// begin marks a part as about to be sent, and returns false if the delivery was
// withdrawn.
func (o *Outbox) begin(out *outgoing) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if out.State != core.DeliveryPending {
		return false
	}
	out.attempted = true
	return true
}

// failedAttempt stores a failure in out, and returns the delivery to be recorded.
func (o *Outbox) failedAttempt(out *outgoing, number int, why error) core.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	out.Attempts, out.Error = number, why.Error()
	return out.Delivery
}

// attempted records the result of an attempt in memory. A part that was refused by, or
// never reached, Telegram counts as not sent.
func (o *Outbox) attempted(out *outgoing, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out.uncertain = out.uncertain || err == nil || classify(err).Ambiguous
	out.attempted = out.uncertain
}
