package telegram

import (
	"context"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
)

// migrate follows a group that was made a supergroup: the channel continues in the new
// chat. Telegram announces the move in both chats.
func (v *receiver) migrate(ctx context.Context, group, supergroup int64) error {
	if !v.chats.spoken(group) || group == supergroup || v.env.Moves.Present(chats.Address{Chat: group}).Chat == supergroup {
		return nil // no allowed user has written in the group, or the move is known
	}
	chat := chatRecord{Title: v.chats.title(group), Spoke: true}
	err := v.env.Records.Write(ctx, records.Entry{Key: movedKey(group), Value: movedRecord{To: supergroup}}, records.Entry{Key: chatKey(supergroup), Value: chat})
	if err != nil {
		return err
	}
	v.env.Moves.Add(group, supergroup, false)
	v.chats.newChat(supergroup, chat)
	v.chats.heard(supergroup)
	v.live.Moved(chats.Address{Chat: group}.Key())
	return nil
}
