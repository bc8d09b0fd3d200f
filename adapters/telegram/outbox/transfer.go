package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"

	"github.com/go-telegram/bot"
)

const (
	// maxAge bounds the attempts to send a delivery that Telegram neither accepts nor
	// refuses: a gateway may sleep over a weekend, or have no network.
	maxAge = 7 * 24 * time.Hour
	// maxDelay bounds the delay between two attempts to send, and maxPause the pause between
	// two attempts to read a delivery.
	maxDelay = time.Minute
	maxPause = 30 * time.Second
)

// A transfer is a delivery in the outbox. Apart from the last fields, only the goroutine
// that sends the delivery uses a transfer.
type transfer struct {
	core.Delivery
	o    *Outbox
	to   chats.Address
	done sendState

	// Outbox.mu guards the fields below.
	uncertain bool           // a part has arrived or may have, or is in flight
	withdrawn bool           // must not be sent
	again     *core.Delivery // added meanwhile; nil: nothing was
}

// run sends the unsent parts. An error that is not Interrupted means that the delivery has
// failed for good. An earlier process with other settings may have made other parts: then run
// sends all of them, since the last part must not come before what it is about.
func (t *transfer) run(ctx context.Context) error {
	parts, err := t.prepare(ctx)
	if err != nil || t.State != core.DeliveryPending {
		return err
	}
	if len(parts) == 0 {
		return t.progress(ctx, true)
	}
	if t.done.Parts != 0 && t.done.Parts != len(parts) {
		t.done.Sent = nil
	}
	t.done.Parts = len(parts)
	for n := min(len(t.done.Sent), len(parts)-1); n < len(parts); n++ {
		id, err := t.sendPart(ctx, parts[n])
		if err != nil {
			return err
		}
		t.done.Sent = append(t.done.Sent, id)
		if err := t.progress(ctx, n == len(parts)-1); err != nil {
			return err
		}
	}
	return nil
}

// prepare returns the parts. While the ledger cannot be read, prepare blocks, and thereby
// the later deliveries of the conversation: no other code would retry before a restart.
func (t *transfer) prepare(ctx context.Context) ([]Part, error) {
	pauses := throttle.NewBackoff(maxPause)
	for {
		parts, err := t.compose(ctx)
		switch {
		case err == nil, errors.Is(err, ErrUndeliverable), errors.Is(err, core.ErrNotFound):
			return parts, err
		case errors.Is(err, core.ErrClosed), ctx.Err() != nil:
			return nil, fmt.Errorf("%w: %w", ErrClosing, err)
		}
		t.o.env.Log.Warn("telegram: a delivery waits for the ledger", "channel", string(t.Channel), "delivery", t.ID, "err", err)
		_ = pauses.Sleep(ctx)
	}
}

// compose reads the present state of the delivery, which may have ended long ago, and
// composes the parts of a pending delivery.
func (t *transfer) compose(ctx context.Context) ([]Part, error) {
	d, err := t.o.deliveries.Delivery(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	t.Delivery = d
	if d.State != core.DeliveryPending {
		return nil, nil
	}
	if t.done, err = progressOf(d); err != nil {
		return nil, Undeliverable(err)
	}
	to, ok := t.o.env.Moves.Of(d.Channel)
	if !ok {
		return nil, Undeliverable(fmt.Errorf("%q is not a chat", d.Channel))
	}
	t.to = to
	compose, ok := t.o.composers[d.Kind]
	if !ok {
		return nil, fmt.Errorf("%w: unknown kind %q", ErrUndeliverable, d.Kind)
	}
	return compose(ctx, d)
}

// sendPart sends a part and returns the resulting message. sendPart blocks until
// Telegram accepts the part or refuses the part for good, or the adapter ends. A part that is
// refused is sent in other ways: nothing of it has arrived, so that after a crash the next
// process tries the same ways from the first one on.
func (t *transfer) sendPart(ctx context.Context, part Part) (id int, err error) {
	var ways []Part
	refused := error(nil) // the first refusal, which is the one to tell
	pauses := throttle.NewBackoff(maxDelay)
	for {
		err = t.o.sender.sendWithin(ctx, timeLimit(part), t.to, throttle.Durable, func(ctx context.Context) (err error) {
			id, err = t.attempt(ctx, part)
			return err
		})
		if err == nil || Interrupted(err) || errors.Is(err, errWithdrawn) {
			return id, err
		}
		if err := t.doubt(err); err != nil {
			return 0, err
		}
		t.Attempts, t.Error = t.Attempts+1, err.Error()
		if err := t.o.deliveries.Delivered(ctx, t.Delivery); err != nil {
			t.o.env.Log.Debug("telegram: failed attempt not recorded", "err", err)
		}
		switch {
		case isRefusedPart(err):
			if refused == nil {
				refused, ways = err, otherWays(part, &t.Delivery, err)
			}
			if len(ways) == 0 {
				return 0, refused
			}
			t.o.env.Log.Warn("telegram: a refused message is sent in another way", "channel", string(t.Channel), "delivery", t.ID, "err", err)
			part, ways = ways[0], ways[1:]
			pauses.Reset()
		case Permanent(err):
			return 0, err
		case botapi.RetryAfter(err) > 0: // the limiter holds the next call
		case time.Since(t.CreatedAt) >= maxAge:
			return 0, fmt.Errorf("given up after %d attempts: %w", t.Attempts, err)
		default:
			if pauses.Failures() == 0 {
				t.o.env.Log.Warn("telegram: a message is sent again", "channel", string(t.Channel), "delivery", t.ID, "err", err)
			}
			_ = pauses.Sleep(ctx)
		}
	}
}

// attempt sends a part once. If the chat has moved or the topic is gone, attempt sends
// to the new chat or to the chat itself. A part that was refused by, or never reached,
// Telegram counts as not sent.
func (t *transfer) attempt(ctx context.Context, part Part) (id int, err error) {
	t.o.mu.Lock()
	before := t.uncertain
	t.uncertain = !t.withdrawn
	t.o.mu.Unlock()
	if !t.uncertain {
		return 0, errWithdrawn
	}
	defer func() {
		t.o.mu.Lock()
		defer t.o.mu.Unlock()
		t.uncertain = before || err == nil || mayHaveArrived(err)
	}()
	id, err = part.Send(ctx, t.o.sender.Client, t.to)
	moved := (*bot.MigrateError)(nil)
	switch {
	case errors.As(err, &moved):
		t.to.Chat, t.to.Thread = int64(moved.MigrateToChatID), 0
	case t.to.Thread != 0 && t.Kind != KindPush && botapi.Refused(err, "message thread not found", "topic_deleted", "topic_closed"):
		t.to.Thread = 0
	default:
		return id, err
	}
	return part.Send(ctx, t.o.sender.Client, t.to)
}

func timeLimit(p Part) time.Duration {
	if slow, ok := p.(interface{ TimeLimit() time.Duration }); ok {
		return slow.TimeLimit()
	}
	return botapi.CallTimeout
}

// sendState is the progress of a delivery.
type sendState struct {
	Sent  []int `json:"sent,omitempty"`  // messages of the sent parts
	Parts int   `json:"parts,omitempty"` // number of all parts; 0 if an earlier version began to send
	// InDoubt is whether an attempt was not answered, so that a part may have arrived that is not in Sent.
	InDoubt bool `json:"in_doubt,omitempty"`
}

func progressOf(d core.Delivery) (done sendState, err error) {
	if d.Progress == nil {
		return done, nil
	}
	if err = json.Unmarshal(d.Progress, &done); err != nil {
		return done, fmt.Errorf("read the progress of delivery %s: %w", d.ID, err)
	}
	return done, nil
}

// doubt notes, to be recorded with the attempt, that a part may have arrived in spite of an error.
func (t *transfer) doubt(failure error) (err error) {
	if !mayHaveArrived(failure) {
		return nil
	}
	t.done.InDoubt = true
	t.Progress, err = json.Marshal(t.done)
	return err
}

// progress records how far the delivery is. If the progress cannot be recorded, the next
// process continues.
func (t *transfer) progress(ctx context.Context, whole bool) (err error) {
	if t.Progress, err = json.Marshal(t.done); err != nil {
		return err
	}
	d := t.Delivery
	if whole {
		d.State, d.Error = core.DeliverySent, ""
	}
	if err := t.o.record(ctx, d); err != nil {
		return fmt.Errorf("%w: %w", ErrClosing, err)
	}
	if n := len(t.done.Sent); n > 0 && t.done.Sent[n-1] != 0 {
		t.o.env.Records.LinkMessage(ctx, t.to.Chat, t.done.Sent[n-1], records.Link{Message: d.Message, Delivery: d.ID})
	}
	return nil
}
