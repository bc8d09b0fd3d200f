package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"

	"github.com/go-telegram/bot"
)

// maxInFlight is how many calls may be under way at once.
const maxInFlight = 16

// deliverFor is how long a delivery is tried that Telegram neither takes nor refuses:
// a gateway may sleep over a weekend, or be without a network.
const deliverFor = 7 * 24 * time.Hour

// recordPause is how long is waited before it is tried again to record what was
// sent: without that it would be sent once more after a restart.
const recordPause = time.Second

// The outbox sends deliveries: those of one conversation in order, each part on
// record before the next one is sent.
type outbox struct {
	adapter *Adapter

	mu    sync.Mutex
	known map[string]*outgoing            // what is in queues or being sent, by id
	queue map[core.ChannelKey][]*outgoing // of conversations whose courier is at work

	awaited   map[string]*awaited // by the id of what somebody waits for
	withdrawn map[string]struct{} // ids of those that were taken back before they were queued
}

// An outgoing is a delivery on its way.
type outgoing struct {
	core.Delivery
	begun  bool // a part of it may have been sent, or is just being sent
	unsure bool // a part of it may have been sent by an earlier try
}

// A sendState is how far a delivery is: the ids of the messages that its parts
// have become.
type sendState struct {
	Sent []int `json:"sent,omitempty"`
}

// add takes a delivery over. It does not block.
func (o *outbox) add(d core.Delivery) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, again := o.known[d.ID]
	_, withdrawn := o.withdrawn[d.ID]
	if again || withdrawn || o.adapter.work.Ended() {
		return
	}
	if o.known == nil {
		o.known, o.queue = map[string]*outgoing{}, map[core.ChannelKey][]*outgoing{}
	}
	tried := d.Progress != nil || d.Attempts > 0
	out := &outgoing{Delivery: d, begun: tried, unsure: tried}
	o.known[d.ID] = out
	waiting, busy := o.queue[d.Channel]
	o.queue[d.Channel] = append(waiting, out)
	if !busy {
		o.adapter.work.Go(func(ctx context.Context) { o.carry(ctx, d.Channel) })
	}
}

// carry sends what is queued for a conversation, in order.
func (o *outbox) carry(ctx context.Context, key core.ChannelKey) {
	for {
		out := o.next(ctx, key)
		if out == nil {
			return
		}
		if err := o.bring(ctx, out); err != nil && ctx.Err() == nil {
			o.adapter.o.Log.Error("telegram: delivery not made", "channel", string(key), "delivery", out.ID, "err", err)
		}
		o.mu.Lock()
		delete(o.known, out.ID)
		o.mu.Unlock()
		o.ended(out.ID)
	}
}

// bring makes a delivery, again and again while what it is cannot be read: what comes
// after it waits, since nothing else would try it again before the next start.
func (o *outbox) bring(ctx context.Context, out *outgoing) error {
	for n := 0; ; n++ {
		err := o.adapter.deliver(ctx, out)
		if unread := (unreadError{}); !errors.As(err, &unread) || errors.Is(err, core.ErrClosed) || ctx.Err() != nil {
			return err
		}
		o.adapter.o.Log.Warn("telegram: a delivery waits for the ledger", "channel", string(out.Channel), "delivery", out.ID, "err", err)
		tasks.Pause(ctx, min(recordPause<<min(n, 10), maxPause))
	}
}

// An unreadError says that it could not be read what a delivery is. It is pending still.
type unreadError struct{ error }

func (e unreadError) Unwrap() error { return e.error }

// next takes a delivery from a conversation's queue; nil when it is empty, which
// ends it, or when ctx ends.
func (o *outbox) next(ctx context.Context, key core.ChannelKey) *outgoing {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue[key]) == 0 || ctx.Err() != nil {
		delete(o.queue, key)
		return nil
	}
	out := o.queue[key][0]
	o.queue[key] = o.queue[key][1:]
	return out
}

func (o *outbox) pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.known)
}

// errWithdrawn: whoever asked for the delivery has given it up.
var errWithdrawn = fmt.Errorf("%w: it was withdrawn before it was sent", errForGood)

// deliver sends the parts of a delivery that have not been sent yet.
func (a *Adapter) deliver(ctx context.Context, out *outgoing) error {
	now, err := a.o.Core.Delivery(ctx, out.ID) // what is recorded again may have been sent long ago
	if err != nil {
		return unreadError{err}
	}
	if now.State != core.DeliveryPending {
		return nil
	}
	if !a.outbox.refresh(out, now) {
		return nil
	}
	p, ok := chats.ParseAddress(out.Channel)
	if !ok {
		return a.giveUp(ctx, out, fmt.Errorf("%q is no chat", out.Channel))
	}
	p = a.movedTo(p)
	var done sendState
	if out.Progress != nil {
		if err := json.Unmarshal(out.Progress, &done); err != nil {
			return a.giveUp(ctx, out, fmt.Errorf("read how far it is: %w", err))
		}
	}
	parts, err := a.compose(ctx, out.Delivery)
	switch {
	case errors.Is(err, errCannotCompose), errors.Is(err, core.ErrNotFound):
		return a.giveUp(ctx, out, err)
	case err != nil:
		return unreadError{err}
	}
	// Should an earlier process, with other settings, have made more parts of it than there
	// are, the last one is sent in any case: it may be the file with all of it.
	for n := min(len(done.Sent), max(len(parts)-1, 0)); n < len(parts); n++ {
		id, err := a.sendPart(&p, out, parts[n])
		if errors.Is(err, throttle.ErrClosed) || errors.Is(err, errLeaving) {
			return err // the next process goes on
		}
		if err != nil {
			return a.giveUp(ctx, out, err)
		}
		done.Sent = append(done.Sent, id)
		if err := a.sent(ctx, p, out, done, n == len(parts)-1); err != nil {
			return err
		}
	}
	if len(parts) == 0 {
		return a.sent(ctx, p, out, done, true)
	}
	return nil
}

// sent records how far a delivery is.
func (a *Adapter) sent(ctx context.Context, p chats.Address, out *outgoing, done sendState, whole bool) (err error) {
	if out.Progress, err = json.Marshal(done); err != nil {
		return err
	}
	d := out.Delivery
	if whole {
		d.State, d.Error = core.DeliverySent, ""
	}
	if err := a.record(ctx, d); err != nil {
		return err
	}
	if n := len(done.Sent); n > 0 && done.Sent[n-1] != 0 {
		a.records.LinkMessage(ctx, p.Chat, done.Sent[n-1], records.Link{Message: d.Message, Delivery: d.ID})
	}
	return nil
}

// record writes what became of a delivery, also while the adapter is ending, and
// again and again while it cannot be written.
func (a *Adapter) record(ctx context.Context, d core.Delivery) error {
	for {
		err := a.o.Core.Delivered(context.WithoutCancel(ctx), d)
		if !errors.Is(err, core.ErrStorage) && !errors.Is(err, core.ErrStorageFull) || ctx.Err() != nil {
			return err
		}
		tasks.Pause(ctx, recordPause)
	}
}

// giveUp records that a delivery cannot be made.
func (a *Adapter) giveUp(ctx context.Context, out *outgoing, why error) error {
	a.health.failures.Add(1)
	d := out.Delivery
	d.State, d.Error = core.DeliveryFailed, why.Error()
	return errors.Join(why, a.record(ctx, d))
}

// sendPart sends one part and returns the id of the message that it has become. It
// blocks until Telegram has taken it, or refuses it for good, or the adapter ends.
func (a *Adapter) sendPart(p *chats.Address, out *outgoing, part part) (int, error) {
	done := make(chan error, 1)
	var id int // written by a try, read once it is done
	chat := p.Chat
	err := a.sends.Submit(throttle.Job{
		Chat: chat, Group: p.Group(), Lane: p.Thread, Class: classOf(out.Kind), Tried: out.Attempts, Since: out.CreatedAt,
		Do: func(ctx context.Context, try throttle.Try) (err error) {
			id, err = a.try(ctx, p, out, part)
			a.coolDownChat(chat, err)
			if err != nil && !errors.Is(err, errLeaving) {
				if err := a.o.Core.Delivered(ctx, a.outbox.failedTry(out, try.Number, err)); err != nil {
					a.o.Log.Debug("telegram: failed attempt not recorded", "err", err)
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

// try sends a part once. What is refused because of where it was to go is sent to
// where it can go.
func (a *Adapter) try(ctx context.Context, p *chats.Address, out *outgoing, part part) (int, error) {
	if !a.outbox.begin(out) {
		return 0, errWithdrawn
	}
	if !a.calls.begin() {
		return 0, errLeaving
	}
	defer a.calls.end()
	ctx, cancel := context.WithTimeout(ctx, timeoutOf(part))
	defer cancel()
	id, err := part.send(ctx, a.client, *p)
	defer func() { a.outbox.tried(out, err) }()
	moved := (*bot.MigrateError)(nil)
	switch {
	case errors.As(err, &moved):
		p.Chat, p.Thread = int64(moved.MigrateToChatID), 0
	case p.Thread != 0 && out.Kind != kindPush && botapi.Refused(err, "message thread not found", "topic_deleted", "topic_closed"):
		p.Thread = 0
	default:
		return id, err
	}
	id, err = part.send(ctx, a.client, *p)
	return id, err
}

// timeoutOf bounds a try.
func timeoutOf(p part) time.Duration {
	if slow, ok := p.(interface{ timeLimit() time.Duration }); ok {
		return slow.timeLimit()
	}
	return botapi.CallTimeout
}

// classOf says how much a delivery matters.
func classOf(k core.DeliveryKind) throttle.Class {
	switch k {
	case core.DeliverApproval, core.DeliverApprovalClosed, kindInput, kindEdit:
		return throttle.Approval
	}
	return throttle.Final
}
