package botapi

import "encoding/json"

// A Header holds the parts of an update needed by the poller.
type Header struct {
	ID      int64 // 0 if the update cannot be identified
	Sender  int64 // id of the sending user; 0 if unknown, or hidden behind a chat
	Chat    int64
	Service bool // a notice about the chat itself, regardless of the author
	Strange bool // undecodable, hence of unknown author
}

// Peek decodes the header of an update.
func Peek(raw json.RawMessage) Header {
	type id struct {
		ID int64 `json:"id"`
	}
	type said struct {
		From    id        `json:"from"`
		Chat    id        `json:"chat"`
		As      *struct{} `json:"sender_chat"` // a channel, or an anonymous administrator
		To      int64     `json:"migrate_to_chat_id"`
		Old     int64     `json:"migrate_from_chat_id"`
		Title   string    `json:"new_chat_title"`
		Created *struct{} `json:"forum_topic_created"`
		Edited  *struct{} `json:"forum_topic_edited"`
	}
	var u struct {
		ID       int64 `json:"update_id"`
		Message  *said `json:"message"`
		Edited   *said `json:"edited_message"`
		Callback *said `json:"callback_query"`
		Member   *said `json:"my_chat_member"`
		Stopped  *said `json:"stopped_message_generation"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return unreadable(raw)
	}
	g := Header{ID: u.ID}
	for _, s := range []*said{u.Message, u.Edited, u.Callback, u.Member, u.Stopped} {
		if s == nil {
			continue
		}
		g.Chat = s.Chat.ID
		if s.As == nil {
			g.Sender = s.From.ID
		}
	}
	if u.Stopped != nil {
		g.Sender = u.Stopped.Chat.ID // drafts exist only in private chats, whose id is the user's id
	}
	if m := u.Message; m != nil {
		g.Service = m.To != 0 || m.Old != 0 || m.Title != "" || m.Created != nil || m.Edited != nil
	}
	if m := u.Message; m != nil && m.Old != 0 {
		g.Chat = m.Old // the chat before the migration, where users may have written
	}
	return g
}

// unreadable returns only the id of an undecodable update: without the id Telegram would
// deliver the update again with every poll.
func unreadable(raw json.RawMessage) Header {
	var u struct {
		ID int64 `json:"update_id"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return Header{}
	}
	return Header{ID: u.ID, Strange: true}
}
