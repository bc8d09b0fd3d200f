package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"

	"github.com/go-telegram/bot"
)

const (
	// maxAge bounds the attempts to send a delivery that Telegram neither accepts nor
	// refuses: a gateway may sleep over a weekend, or have no network.
	maxAge = 7 * 24 * time.Hour
	// maxDelay bounds the delay between two attempts.
	maxDelay = time.Minute
)

// sendPart sends a part and returns the resulting message. sendPart blocks until
// Telegram accepts the part or refuses the part for good, or the adapter ends.
func (o *Outbox) sendPart(ctx context.Context, to *chats.Address, out *outgoing, part Part) (id int, err error) {
	for failures := 0; ; {
		err = o.sender.sendWithin(ctx, timeLimit(part), *to, throttle.Durable, func(ctx context.Context) (err error) {
			id, err = o.attempt(ctx, to, out, part)
			return err
		})
		if err == nil || Interrupted(err) {
			return id, err
		}
		if err := o.env.Delivered(ctx, o.failedAttempt(out, err)); err != nil {
			o.env.Log.Debug("telegram: failed attempt not recorded", "err", err)
		}
		switch kind := classify(err).Kind; {
		case kind == throttle.Permanent:
			return 0, err
		case kind == throttle.Wait: // by the next call
		case time.Since(out.CreatedAt) >= maxAge:
			return 0, fmt.Errorf("given up after %d attempts: %w", out.Attempts, err)
		default:
			failures++
			tasks.Pause(ctx, tasks.Backoff(failures, maxDelay))
		}
	}
}

// attempt sends a part once. If the chat has moved or the topic is gone, attempt sends
// to the new chat or to the chat itself.
func (o *Outbox) attempt(ctx context.Context, to *chats.Address, out *outgoing, part Part) (id int, err error) {
	if !o.begin(out) {
		return 0, errWithdrawn
	}
	id, err = part.Send(ctx, o.sender.Client, *to)
	moved := (*bot.MigrateError)(nil)
	switch {
	case errors.As(err, &moved):
		to.Chat, to.Thread = int64(moved.MigrateToChatID), 0
	case to.Thread != 0 && out.Kind != KindPush && botapi.Refused(err, "message thread not found", "topic_deleted", "topic_closed"):
		to.Thread = 0
	default:
		o.attempted(out, err)
		return id, err
	}
	id, err = part.Send(ctx, o.sender.Client, *to)
	o.attempted(out, err)
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

// failedAttempt counts a failure in out, and returns the delivery to be recorded.
func (o *Outbox) failedAttempt(out *outgoing, why error) core.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	out.Attempts, out.Error = out.Attempts+1, why.Error()
	return out.Delivery
}

// attempted records the result of an attempt in memory. A part that was refused by, or
// never reached, Telegram counts as not sent.
func (o *Outbox) attempted(out *outgoing, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out.uncertain = out.uncertain || err == nil || mayHaveArrived(err)
	out.attempted = out.uncertain
}
