package botapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-telegram/bot/models"
)

// DecodeUpdate decodes an update. If the library cannot decode the update, DecodeUpdate
// keeps only the readable fields of messages, to preserve the text despite unknown content,
// such as a new kind of origin.
func DecodeUpdate(raw json.RawMessage) (models.Update, error) {
	var u models.Update
	err := json.Unmarshal(raw, &u)
	if err == nil {
		return u, nil
	}
	var parts map[string]json.RawMessage
	_ = json.Unmarshal(raw, &parts) // else nothing is left
	lean := map[string]any{"update_id": parts["update_id"]}
	for _, kind := range []string{"message", "edited_message"} {
		if m := readable(parts[kind]); len(m) > 0 {
			lean[kind] = m
		}
	}
	u = models.Update{}
	if again, failed := json.Marshal(lean); failed == nil && len(lean) > 1 && json.Unmarshal(again, &u) == nil {
		return u, nil
	}
	return models.Update{}, fmt.Errorf("read an update: %w", err)
}

// addressing are the fields that name a message, its sender and its conversation. Without one
// of these fields a message could reach another conversation, or pass for an allowed user's.
var addressing = []string{"message_id", "from", "chat", "sender_chat", "message_thread_id", "is_topic_message"}

// readable returns the fields of a message that the library can decode; nil without any, or if
// a field of addressing cannot be decoded.
func readable(message json.RawMessage) (kept map[string]json.RawMessage) {
	_ = json.Unmarshal(message, &kept) // else nothing is kept
	for name, v := range maps.Clone(kept) {
		one, err := json.Marshal(map[string]json.RawMessage{name: v})
		if err == nil && json.Unmarshal(one, &models.Message{}) == nil {
			continue
		}
		if slices.Contains(addressing, name) {
			return nil
		}
		delete(kept, name)
	}
	return kept
}

// An Origin is the user and the chat of an update.
type Origin struct {
	Sender  int64 // id of the sending user; 0 if unknown, or hidden behind a chat
	Chat    int64
	Service bool // a notice about the chat itself, regardless of the author
}

// OriginOf returns the origin of an update.
func OriginOf(u *models.Update) (o Origin) {
	said := func(m *models.Message) {
		if o.Chat = m.Chat.ID; m.From != nil && m.SenderChat == nil { // no channel, and no anonymous administrator
			o.Sender = m.From.ID
		}
	}
	switch {
	case u.Message != nil:
		m := u.Message
		said(m)
		o.Service = m.MigrateToChatID != 0 || m.MigrateFromChatID != 0 || m.NewChatTitle != "" || m.ForumTopicCreated != nil || m.ForumTopicEdited != nil
		if m.MigrateFromChatID != 0 {
			o.Chat = m.MigrateFromChatID // the chat before the migration, where users may have written
		}
	case u.EditedMessage != nil:
		said(u.EditedMessage)
	case u.CallbackQuery != nil:
		o.Sender = u.CallbackQuery.From.ID
	case u.MyChatMember != nil:
		o.Sender, o.Chat = u.MyChatMember.From.ID, u.MyChatMember.Chat.ID
	case u.StoppedMessageGeneration != nil:
		o.Chat = u.StoppedMessageGeneration.Chat.ID
		o.Sender = o.Chat // drafts exist only in private chats, whose id is the user's id
	}
	return o
}
