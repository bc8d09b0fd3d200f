package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"bareclaw/core"
)

// migrate follows a group that was made a supergroup, which is another chat with
// another id: https://core.telegram.org/bots/api#message. The session, what waits and
// what was chosen go with it. It may be told twice, once in each chat.
func (a *Adapter) migrate(ctx context.Context, from, to int64) error {
	if !a.chats.spoken(from) || from == to {
		return nil // nobody who is listened to has anything there
	}
	a.chats.moving.Lock()
	defer a.chats.moving.Unlock()
	before, now := place{chat: from}, place{chat: to}
	if a.movedTo(before) == now {
		return nil
	}
	if err := a.moveChannel(ctx, before.key(), now.key()); err != nil && !errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("telegram: move %s to %s: %w", before.key(), now.key(), err)
	}
	if err := a.copyRecords(ctx, before, now); err != nil {
		return err
	}
	if err := a.keep(ctx, recordMoved+strconv.FormatInt(from, 10), movedRecord{To: to}); err != nil { // last: it says that all is done
		return err
	}
	a.chats.mu.Lock()
	defer a.chats.mu.Unlock()
	a.chats.moved[from], a.chats.spoke[to] = to, true
	a.chats.known[to] = a.chats.known[from]
	return nil
}

// copyRecords gives a conversation what was known of it at another place, unless
// that is known there.
func (a *Adapter) copyRecords(ctx context.Context, from, to place) error {
	keys := map[string]string{
		recordSetting + string(from.key()):            recordSetting + string(to.key()),
		recordChat + strconv.FormatInt(from.chat, 10): recordChat + strconv.FormatInt(to.chat, 10),
	}
	for old, key := range keys {
		var doc, there json.RawMessage
		ok, err := a.recall(ctx, old, &doc)
		if err == nil && ok {
			ok, err = a.recall(ctx, key, &there)
			if err == nil && !ok {
				err = a.keep(ctx, key, doc)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
