package botapi

import "github.com/go-telegram/bot/models"

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
