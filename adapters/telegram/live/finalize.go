package live

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// finalizePause is the time before a failed finalization is repeated.
const finalizePause = 10 * time.Second

// A finalizer gives messages their final content. The methods of a finalizer are safe for
// concurrent use.
type finalizer struct {
	env      *env.Env
	sender   *outbox.Sender
	statuses sync.Mutex // serialises changes of status records
}

// A finalRecord is the final content of a message. Without a text the message is deleted.
type finalRecord struct {
	Text     string                 `json:"text,omitempty"`
	Entities []models.MessageEntity `json:"entities,omitempty"`
}

func finalKey(to chats.Address, id int) string {
	return records.Finalize + string(to.Key()) + ":" + strconv.Itoa(id)
}

// finalize replaces a message with the final text, or deletes the message if the text is
// empty. finalize first records the final text, together with other records.
func (z *finalizer) finalize(ctx context.Context, to chats.Address, id int, final markdown.Document, others ...records.Entry) {
	f := finalRecord{Text: final.Text, Entities: final.Entities}
	err := z.env.Records.Write(ctx, append(others, records.Entry{Key: finalKey(to, id), Value: f})...)
	z.env.Records.Warn(ctx, "the final text of a message is not recorded", err, "chat", to.Chat, "message", id)
	z.apply(to, id, f)
}

// apply finalizes a message in the background, and retries until Telegram accepts or
// refuses the change, or the adapter ends: then the next process continues.
func (z *finalizer) apply(to chats.Address, id int, final finalRecord) {
	z.env.Work.Go(func(ctx context.Context) {
		for ; ctx.Err() == nil; tasks.Pause(ctx, finalizePause) {
			err := z.sender.Send(ctx, to, throttle.Progress, func(ctx context.Context) error { return final.send(ctx, z.sender.Client, to, id) })
			moved := (*bot.MigrateError)(nil) // the chat is gone
			if err == nil || outbox.Permanent(err) || errors.As(err, &moved) {
				z.env.Records.Forget(ctx, "the final text of a message", finalKey(to, id)) // or the change is repeated
				return
			}
		}
	})
}

func (f *finalRecord) send(ctx context.Context, c *botapi.Client, to chats.Address, id int) error {
	if f.Text == "" {
		_, err := c.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: to.Chat, MessageID: id})
		return err
	}
	return (&outbox.Text{Document: markdown.Document{Text: f.Text, Entities: f.Entities}, Replace: id}).Edit(ctx, c, to)
}

// FinalizeLeft finalizes the messages left by an earlier process.
func (z *finalizer) FinalizeLeft(ctx context.Context) error {
	return records.Each(ctx, z.env.Records, records.Finalize, func(rest string, final finalRecord) {
		key, message, _ := strings.Cut(rest, ":")
		to, ok := chats.ParseAddress(core.ChannelKey(key))
		if id, err := strconv.Atoi(message); ok && err == nil {
			z.apply(to, id, final)
		}
	})
}

// statusPosted records the status message of a conversation.
func (z *finalizer) statusPosted(key core.ChannelKey, id int) {
	z.statuses.Lock()
	defer z.statuses.Unlock()
	z.env.Records.Keep(z.env.Work.Context(), "a status message", records.Status+string(key), id)
}

// finalizeStatus finalizes a status message. The next turn may have a new status message
// already.
func (z *finalizer) finalizeStatus(ctx context.Context, to chats.Address, id int, final markdown.Document) {
	z.statuses.Lock()
	defer z.statuses.Unlock()
	var shown int
	var forget []records.Entry
	key := records.Status + string(to.Key())
	if _, err := z.env.Records.Get(ctx, key, &shown); err == nil && shown == id {
		forget = append(forget, records.Entry{Key: key})
	}
	z.finalize(ctx, to, id, final, forget...)
}

// DeleteStray deletes a status message unknown to every process: a process was killed
// after Telegram accepted the message and before the id was recorded.
func (z *finalizer) DeleteStray(ctx context.Context, to chats.Address, message int) {
	for _, key := range []string{records.LinkKey(to.Chat, message), finalKey(to, message)} {
		var known json.RawMessage
		if found, err := z.env.Records.Get(ctx, key, &known); found || err != nil {
			return // part of a delivery, or about to be finalized
		}
	}
	var shown int
	if _, err := z.env.Records.Get(ctx, records.Status+string(to.Key()), &shown); err == nil && shown != message {
		z.finalize(ctx, to, message, markdown.Document{})
	}
}
