package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/commands"
	"bareclaw/adapters/telegram/inbound"
	"bareclaw/core"
	"bareclaw/internal/guard"
	"bareclaw/internal/wait"

	"github.com/go-telegram/bot/models"
)

// An arrival is an update that is not handled yet. The id of the record is the source key
// of the submission.
type arrival struct {
	*core.Inbound
	update models.Update
	at     time.Time // of the arrival in this process
}

// decode returns the arrival of an update. An undecodable update has only an id, if that is
// readable: without the id Telegram would deliver the update again with every poll.
func decode(log *slog.Logger, in *core.Inbound) (*arrival, error) {
	r := &arrival{Inbound: in}
	err := guard.Do(log, "reading an update", func() (err error) {
		r.update, err = botapi.DecodeUpdate(in.Body)
		return err
	})
	if err != nil {
		var known struct {
			ID int64 `json:"update_id"`
		}
		_ = json.Unmarshal(in.Body, &known)
		r.update.ID = known.ID
	}
	return r, err
}

// An intake keeps the updates of a conversation in order. Conversations are independent,
// and urgent updates, such as a tap on a button, are handled at once.
type intake struct {
	receiver *receiver
	gatherer inbound.Gatherer
	env      *base.Base

	mu    sync.Mutex
	lines map[chats.Address]*line // lines with work left
	since time.Time               // polls have succeeded since then; zero: the last poll failed, or none has ended
}

// A line holds the updates of one conversation. A single goroutine handles the line.
type line struct {
	waiting []*arrival
	more    wait.Signal // sent with each arrival, and when polls work again
}

const (
	// holdPause is how long a message is held for what its sender sends with it: Telegram's clients
	// send a comment and the forwarded messages at once, but as separate messages, the comment first.
	holdPause = 300 * time.Millisecond
	// gatherPause is how long to wait for the next message of an album or a long text:
	// the messages arrive separately, and nothing marks the last message.
	gatherPause = time.Second
	// maxGather bounds the wait while polls fail: the next message may lie with Telegram.
	maxGather = 30 * time.Second
)

func newIntake(r *receiver, e *base.Base) *intake {
	return &intake{receiver: r, gatherer: inbound.Gatherer{Own: r.isOwn}, env: e, lines: map[chats.Address]*line{}}
}

func (n *intake) add(r *arrival) {
	to, inOrder := r.address(n.receiver.bot())
	if !inOrder {
		n.env.Work.Go(func(ctx context.Context) { n.handleAside(ctx, r) })
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.lines[to]
	if l == nil {
		l = &line{more: wait.NewSignal()}
		n.lines[to] = l
		n.env.Work.Go(func(ctx context.Context) { n.run(ctx, to, l) })
	}
	r.at = time.Now()
	l.waiting = append(l.waiting, r)
	l.more.Send()
}

// polled notes whether a poll succeeded. While polls fail, the rest of an album or a long
// text may wait at Telegram.
func (n *intake) polled(ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !ok:
		n.since = time.Time{}
	case n.since.IsZero():
		n.since = time.Now()
		for _, l := range n.lines {
			l.more.Send()
		}
	}
}

// handleAside handles an update concurrently with the updates in the conversation's
// line.
func (n *intake) handleAside(ctx context.Context, r *arrival) {
	n.handle(ctx, []*arrival{r}, func() error { n.receiver.handleAside(ctx, r); return nil })
}

func (n *intake) run(ctx context.Context, to chats.Address, l *line) {
	for {
		batch, pause := n.next(ctx, to, l)
		switch {
		case pause > 0:
			l.await(ctx, pause)
		case len(batch) == 0:
			return
		default:
			n.handle(ctx, batch, func() error { return n.receiver.handle(ctx, to, batch) })
		}
	}
}

// handle handles a single update, or updates forming one message. If handling panics,
// handle apologizes to the sender, and the updates are not tried again. Interrupted
// updates are left to the next process.
func (n *intake) handle(ctx context.Context, batch []*arrival, do func() error) {
	err := guard.Do(n.env.Log, "handling a message", do)
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, guard.ErrPanic):
		n.receiver.apologize(ctx, batch[0])
	case err != nil: // handled again after the next start
		n.env.Log.Error("telegram: an update is not handled", "update", batch[0].ID, "err", err)
		return
	}
	n.receiver.handled(ctx, batch...)
}

func (l *line) await(ctx context.Context, d time.Duration) {
	select {
	case <-l.more:
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// next returns the arrivals to be handled together, or how long to wait for more
// arrivals. If the line is empty or ctx has ended, next ends the line and returns
// nothing.
func (n *intake) next(ctx context.Context, to chats.Address, l *line) (batch []*arrival, pause time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() != nil || len(l.waiting) == 0 {
		delete(n.lines, to)
		return nil, 0
	}
	batch, rest, next := n.gather(l.waiting)
	if left := n.left(batch[len(batch)-1].at, next); left > 0 {
		return nil, left
	}
	l.waiting = rest
	return batch, 0
}

// left returns how long to wait, after the arrival of a message at a time, for what may be next.
func (n *intake) left(at time.Time, next inbound.Next) time.Duration {
	since := time.Since(at)
	switch {
	case next == inbound.Bundled:
		return max(0, holdPause-since)
	case next == inbound.Nothing:
		return 0
	case n.since.IsZero():
		return max(0, maxGather-since)
	}
	return max(0, min(maxGather-since, gatherPause-min(since, time.Since(n.since))))
}

// gather returns the arrivals that form one message with the first of those that wait, the rest, and
// what may be next of the message. Messages of other people in between stay where they are.
func (n *intake) gather(waiting []*arrival) (batch, rest []*arrival, next inbound.Next) {
	first := waiting[0].update.Message
	if first == nil {
		return waiting[:1:1], waiting[1:], inbound.Nothing
	}
	ms := []*models.Message{first}
	batch = waiting[:1:1]
	for i, r := range waiting[1:] {
		m := cmp.Or(r.update.Message, r.update.EditedMessage)
		switch {
		case m != nil && !inbound.SameSender(m, first):
			rest = append(rest, r)
		case m != nil && m == r.update.Message && n.gatherer.Continues(m, ms):
			batch, ms = append(batch, r), append(ms, m)
		default: // what comes next has begun
			return batch, append(rest, waiting[i+1:]...), inbound.Nothing
		}
	}
	return batch, rest, n.gatherer.Next(ms)
}

// address returns the conversation of an update, and whether the update waits for
// earlier updates.
func (r *arrival) address(bot string) (to chats.Address, inOrder bool) {
	switch u := &r.update; {
	case u.Message != nil:
		return chats.AddressOf(u.Message), !commands.IsStop(u.Message, bot)
	case u.EditedMessage != nil:
		return chats.AddressOf(u.EditedMessage), true
	case u.MyChatMember != nil:
		return chats.Address{Chat: u.MyChatMember.Chat.ID}, true
	}
	return chats.Address{}, false
}

func messagesOf(batch []*arrival) []*models.Message {
	ms := make([]*models.Message, len(batch))
	for i, r := range batch {
		ms[i] = r.update.Message
	}
	return ms
}
