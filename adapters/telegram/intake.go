package telegram

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// An arrival is an update on its way: on record, and not handled yet.
type arrival struct {
	key    string // of the record, and the source key of what is submitted
	raw    json.RawMessage
	update models.Update
	// receivedAt is when it was put on record, by this machine's clock.
	receivedAt time.Time
}

// The intake keeps the updates of a conversation in order and lets conversations
// be independent. What must not wait behind others, such as a tap on a button,
// is handled beside them.
type intake struct {
	adapter *Adapter

	mu    sync.Mutex
	lines map[chats.Address]*line // those with something to do
}

// A line is what came from one conversation. One goroutine handles it.
type line struct {
	waiting []*arrival
	last    time.Time     // when the last one arrived
	more    chan struct{} // signalled with each arrival
}

const (
	// maxAlbum is how many messages an album has at most:
	// https://core.telegram.org/bots/api#sendmediagroup
	maxAlbum = 10
	// albumPause is how long is waited for the next message of an album. They come one
	// by one, and nothing says which is the last.
	albumPause = time.Second
)

// add takes an update over. It does not block.
func (n *intake) add(in core.Inbound) {
	r := &arrival{key: in.ID, raw: in.Body, receivedAt: in.ReceivedAt}
	var err error
	if r.update, err = botapi.DecodeUpdate(in.Body); err != nil {
		n.adapter.o.Log.Error("telegram: an update cannot be read; it is left out", "update", in.ID, "err", err)
		n.adapter.work.Go(func(ctx context.Context) { n.adapter.handled(ctx, r) })
		return
	}
	p, inOrder := r.place(n.adapter.health.name())
	if !inOrder {
		n.adapter.work.Go(func(ctx context.Context) { n.adapter.handleAside(ctx, r) })
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.lines[p]
	if l == nil {
		l = &line{more: make(chan struct{}, 1)}
		if n.lines == nil {
			n.lines = map[chats.Address]*line{}
		}
		n.lines[p] = l
		n.adapter.work.Go(func(ctx context.Context) { n.run(ctx, p, l) })
	}
	l.waiting, l.last = append(l.waiting, r), time.Now()
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// run handles a line until it is empty.
func (n *intake) run(ctx context.Context, p chats.Address, l *line) {
	for {
		batch, wait := n.next(ctx, p, l)
		switch {
		case wait > 0:
			l.await(ctx, wait)
		case len(batch) == 0:
			return
		default:
			n.adapter.handle(ctx, p, batch)
		}
	}
}

// await waits for more, but not for longer than d.
func (l *line) await(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.more:
	case <-t.C:
	case <-ctx.Done():
	}
}

// next takes from the line what is to be handled together, or says how long more of
// that may still come. Nothing is left when it returns nothing, which ends the line,
// or when ctx ends.
func (n *intake) next(ctx context.Context, p chats.Address, l *line) (batch []*arrival, wait time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() != nil || len(l.waiting) == 0 {
		delete(n.lines, p)
		return nil, 0
	}
	var size int
	var more bool
	if l.waiting[0].album() != "" {
		size = albumSize(l.waiting)
		more = size < maxAlbum
	} else {
		size, more = n.adapter.textSize(l.waiting)
	}
	if size == len(l.waiting) && more {
		if left := albumPause - time.Since(l.last); left > 0 {
			return nil, left
		}
	}
	batch, l.waiting = l.waiting[:size:size], l.waiting[size:]
	return batch, 0
}

// albumSize returns how many arrivals at the beginning belong together.
func albumSize(waiting []*arrival) int {
	id := waiting[0].album()
	n := 1
	for id != "" && n < min(len(waiting), maxAlbum) && waiting[n].album() == id {
		n++
	}
	return n
}

// album returns the id of the album that a message belongs to, empty if it belongs
// to none.
func (r *arrival) album() string {
	if r.update.Message == nil {
		return ""
	}
	return r.update.Message.MediaGroupID
}

// place returns the conversation that an update belongs to, and whether it waits
// for those that came before. bot is the bot's user name.
func (r *arrival) place(bot string) (p chats.Address, inOrder bool) {
	switch u := &r.update; {
	case u.Message != nil:
		return chats.AddressOf(u.Message), !isStop(u.Message, bot)
	case u.EditedMessage != nil:
		return chats.AddressOf(u.EditedMessage), true
	case u.MyChatMember != nil:
		return chats.Address{Chat: u.MyChatMember.Chat.ID}, true
	}
	return chats.Address{}, false
}

// handled records that nothing is left to be done about arrivals. Where that fails
// they are handled once more after the next start, which their keys make harmless.
func (a *Adapter) handled(ctx context.Context, rs ...*arrival) {
	ids := make([]string, len(rs))
	for i, r := range rs {
		ids[i] = r.key
	}
	if err := a.o.Core.Handled(ctx, ids...); err != nil && ctx.Err() == nil {
		a.o.Log.Error("telegram: not noted what was handled", "err", err)
	}
}
