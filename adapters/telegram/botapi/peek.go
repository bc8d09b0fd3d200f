package botapi

import "encoding/json"

// A Header is what the poller must know of an update.
type Header struct {
	ID      int64 // 0: the update cannot be told from others
	Sender  int64 // the user it is from; 0: nobody, or somebody who hides behind a chat
	Chat    int64
	Service bool // it tells of the chat itself, whoever has brought that about
	Strange bool // it is nothing that can be read, so that nobody is known to have said it
}

// Peek reads the header of an update.
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
		g.Sender = u.Stopped.Chat.ID // drafts are for private chats, which have their user's id
	}
	if m := u.Message; m != nil {
		g.Service = m.To != 0 || m.Old != 0 || m.Title != "" || m.Created != nil || m.Edited != nil
	}
	if m := u.Message; m != nil && m.Old != 0 {
		g.Chat = m.Old // where somebody may have spoken
	}
	return g
}

// unreadable finds of an update that is not what it should be only which one it is:
// without that it would come again with each poll.
func unreadable(raw json.RawMessage) Header {
	var u struct {
		ID int64 `json:"update_id"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return Header{}
	}
	return Header{ID: u.ID, Strange: true}
}
