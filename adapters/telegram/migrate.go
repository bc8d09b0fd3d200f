package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
)

// migrate follows a group that was made a supergroup, which is another chat with
// another id: https://core.telegram.org/bots/api#message. The session, what waits,
// rules and what was chosen go with it. It is told in both chats, and blocks until a
// turn that runs has ended: before that, a message in the new chat would begin a
// conversation of its own.
func (a *Adapter) migrate(ctx context.Context, from, to int64) error {
	if !a.chats.spoken(from) || from == to {
		return nil // nobody who is listened to has anything there
	}
	a.chats.moving.Lock()
	defer a.chats.moving.Unlock()
	if a.chats.move(from, movedRecord{To: to}) {
		return nil // it is done
	}
	key := records.Moved + strconv.FormatInt(from, 10)
	if err := a.records.Put(ctx, key, movedRecord{To: to}); err != nil { // from now on deliveries go there
		return err
	}
	before, now := chats.Address{Chat: from}, chats.Address{Chat: to}
	if err := a.o.Core.Move(ctx, before.Key(), now.Key()); err != nil {
		return fmt.Errorf("telegram: follow a group: %w", err)
	}
	a.followMoved(before, now)
	if err := a.copyRecords(ctx, before, now); err != nil {
		return err
	}
	if err := a.records.Put(ctx, key, movedRecord{To: to, Done: true}); err != nil {
		return err
	}
	a.chats.move(from, movedRecord{To: to, Done: true})
	return nil
}

// move notes what becomes of a chat, and reports whether that was done before.
func (b *chatbook) move(from int64, r movedRecord) (done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.moved[from].Done {
		return true
	}
	b.moved[from], b.spoke[r.To] = r, true
	b.known[r.To] = b.known[from]
	return false
}

// copyRecords gives a conversation what was known of it at another place, unless
// that is known there.
func (a *Adapter) copyRecords(ctx context.Context, from, to chats.Address) error {
	for old, key := range map[string]string{
		records.SettingsKey(from.Key()):                 records.SettingsKey(to.Key()),
		records.Chat + strconv.FormatInt(from.Chat, 10): records.Chat + strconv.FormatInt(to.Chat, 10),
	} {
		var doc, there json.RawMessage
		ok, err := a.records.Get(ctx, old, &doc)
		if err == nil && ok {
			ok, err = a.records.Get(ctx, key, &there)
			if err == nil && !ok {
				err = a.records.Put(ctx, key, doc)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// followMoved has what waited in a conversation be followed where it is now.
func (a *Adapter) followMoved(from, to chats.Address) {
	a.followers.mu.Lock()
	defer a.followers.mu.Unlock()
	if f := a.followers.of[from.Key()]; f != nil {
		f.tell(func() {
			clear(f.open) // their outcomes are told elsewhere
			clear(f.owed)
		})
	}
	if f := a.followers.of[to.Key()]; f == nil || !f.tell(f.findOpen) {
		a.startFollower(to, a.o.Core.Subscribe(to.Key()), func(f *follower) { f.told = append(f.told, f.findOpen) })
	}
}

// findOpen takes up the messages that were accepted elsewhere and moved here.
func (f *follower) findOpen() {
	open, err := f.adapter.o.Core.OpenMessages(f.adapter.work.Context(), Name)
	if err != nil && f.adapter.work.Context().Err() == nil {
		f.adapter.o.Log.Warn("telegram: not known what was moved", "channel", string(f.key), "err", err)
	}
	for _, m := range open {
		if m.Channel == f.key {
			f.open[m.ID] = true
		}
	}
}
