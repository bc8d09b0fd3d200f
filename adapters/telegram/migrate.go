package telegram

import (
	"context"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"
)

// migrate follows a group that was made a supergroup: the channel continues in the new
// chat. Telegram announces the move in both chats.
func (v *receiver) migrate(ctx context.Context, group, supergroup int64) error {
	if !v.chats.spoken(group) || group == supergroup || v.env.Moves.Present(chats.Address{Chat: group}).Chat == supergroup {
		return nil // no allowed user has written in the group, or the move is known
	}
	chat := chatRecord{Title: v.chats.title(group), Spoke: true}
	moved, err := records.Make(movedKey(group), movedRecord{To: supergroup})
	var known *core.Record
	if err == nil {
		known, err = records.Make(chatKey(supergroup), chat)
	}
	if err == nil {
		err = v.env.Records.Write(ctx, moved, known)
	}
	if err != nil {
		return err
	}
	v.env.Moves.Add(group, supergroup, false)
	v.chats.newChat(supergroup, chat)
	v.chats.heard(supergroup)
	v.live.Moved(chats.Address{Chat: group}.Key())
	return nil
}
