package live

import (
	"context"
	"encoding/json"
	"fmt"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/outbox"
)

func finalID(to chats.Address, id int) string { return fmt.Sprintf("final:%d:%d", to.Chat, id) }

// finalize replaces a message with the final text, or deletes the message if the text is
// empty, after the deliveries recorded before.
func (vs *Views) finalize(ctx context.Context, to chats.Address, id int, final markdown.Document) {
	vs.out.Edit(ctx, finalID(to, id), to.Key(), outbox.Edit{Message: id, Chat: to.Chat, Remove: final.Text == "", Final: final},
		env.Entry{Key: shownKey(to.Key(), id)})
}

// DeleteStray deletes a status message unknown to every process: a process was killed
// after Telegram accepted the message and before the id was recorded.
func (vs *Views) DeleteStray(ctx context.Context, to chats.Address, message int) {
	for _, key := range []string{env.LinkKey(to.Chat, message), shownKey(to.Key(), message)} {
		var known json.RawMessage
		if found, err := vs.env.Records.Get(ctx, key, &known); found || err != nil {
			return // part of a delivery, or still changing
		}
	}
	if !vs.out.Recorded(ctx, finalID(to, message)) {
		vs.finalize(ctx, to, message, markdown.Document{})
	}
}
