package telegram

import (
	"context"
	"encoding/json"
	"fmt"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
)

// migrate follows a group that was made a supergroup, and thereby a new chat:
// https://core.telegram.org/bots/api#message. Session, queue, rules and settings move to
// the new chat. Telegram announces the move in both chats. migrate blocks until a
// running turn has ended: before the end, a message in the new chat would begin a
// separate conversation.
func (v *receiver) migrate(ctx context.Context, from, to int64) error {
	if !v.chats.spoken(from) || from == to {
		return nil // no allowed user has written in the old chat
	}
	v.chats.moving.Lock()
	defer v.chats.moving.Unlock()
	if v.chats.move(from, movedRecord{To: to}) {
		return nil // done before
	}
	if err := v.store.Put(ctx, movedKey(from), movedRecord{To: to}); err != nil { // from now on deliveries go to the new chat
		return err
	}
	before, now := chats.Address{Chat: from}, chats.Address{Chat: to}
	if err := v.core.Move(ctx, before.Key(), now.Key()); err != nil {
		return fmt.Errorf("telegram: follow a group: %w", err)
	}
	v.live.Move(before, now)
	for old, key := range map[string]string{
		records.SettingsKey(before.Key()): records.SettingsKey(now.Key()), chatKey(from): chatKey(to),
	} {
		if err := v.copyRecord(ctx, old, key); err != nil {
			return err
		}
	}
	if err := v.store.Put(ctx, movedKey(from), movedRecord{To: to, Done: true}); err != nil {
		return err
	}
	v.chats.move(from, movedRecord{To: to, Done: true})
	return nil
}

// move caches the move of a chat, and reports whether the move was complete before.
func (c *chatCache) move(from int64, r movedRecord) (done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved[from].Done {
		return true
	}
	c.moved[from], c.spoke[r.To] = r, true
	c.known[r.To] = c.known[from]
	return false
}

// copyRecord copies a record unless the target key has a record.
func (v *receiver) copyRecord(ctx context.Context, from, to string) error {
	var doc, there json.RawMessage
	ok, err := v.store.Get(ctx, from, &doc)
	if err != nil || !ok {
		return err
	}
	if ok, err = v.store.Get(ctx, to, &there); err != nil || ok {
		return err
	}
	return v.store.Put(ctx, to, doc)
}
