package live

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
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
func (vs *Views) finalize(ctx context.Context, to chats.Address, id int, final markdown.Document, others ...*core.Record) {
	f := finalRecord{Text: final.Text, Entities: final.Entities}
	r, err := records.Make(finalKey(to, id), f)
	if err == nil {
		err = vs.env.Records.Write(ctx, append(others, r)...)
	}
	vs.env.Records.Warn(ctx, "the final text of a message is not recorded", err, "chat", to.Chat, "message", id)
	vs.applyFinal(to, id, f)
}

// applyFinal finalizes a message in the background, and retries until Telegram accepts or
// refuses the change, or the adapter ends: then the next process continues.
func (vs *Views) applyFinal(to chats.Address, id int, final finalRecord) {
	vs.env.Work.Go(func(ctx context.Context) {
		for ; ctx.Err() == nil; tasks.Pause(ctx, finalizePause) {
			err := vs.sender.Send(ctx, to, throttle.Progress, func(ctx context.Context) error { return final.apply(ctx, vs.sender.Client, to, id) })
			moved := (*bot.MigrateError)(nil) // the chat is gone
			if err == nil || outbox.Permanent(err) || errors.As(err, &moved) {
				_ = vs.env.Records.Write(ctx, records.Deletion(finalKey(to, id))) // or the change is repeated
				return
			}
		}
	})
}

func (f *finalRecord) apply(ctx context.Context, c *botapi.Client, to chats.Address, id int) error {
	if f.Text == "" {
		_, err := c.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: to.Chat, MessageID: id})
		return err
	}
	return (&outbox.Text{Document: markdown.Document{Text: f.Text, Entities: f.Entities}, Replace: id}).Edit(ctx, c, to)
}

// FinalizeLeft finalizes the messages left by an earlier process.
func (vs *Views) FinalizeLeft(ctx context.Context) error {
	all, err := vs.env.Records.All(ctx, records.Finalize)
	if err != nil {
		return err
	}
	for _, r := range all {
		key, message, _ := strings.Cut(strings.TrimPrefix(r.Key, records.Finalize), ":")
		to, ok := chats.ParseAddress(core.ChannelKey(key))
		id, err := strconv.Atoi(message)
		var final finalRecord
		if ok && err == nil && json.Unmarshal(r.Doc, &final) == nil {
			vs.applyFinal(to, id, final)
		}
	}
	return nil
}

// DeleteStray deletes a status message unknown to every process: a process was killed
// after Telegram accepted the message and before the id was recorded.
func (vs *Views) DeleteStray(ctx context.Context, to chats.Address, message int) {
	for _, key := range []string{records.LinkKey(to.Chat, message), finalKey(to, message)} {
		var known json.RawMessage
		if found, err := vs.env.Records.Get(ctx, key, &known); found || err != nil {
			return // part of a delivery, or about to be finalized
		}
	}
	var shown int
	if _, err := vs.env.Records.Get(ctx, records.Status+string(to.Key()), &shown); err == nil && shown != message {
		vs.finalize(ctx, to, message, markdown.Document{})
	}
}

// restoreMessages continues with the messages displayed by an earlier process.
func (v *View) restoreMessages(ctx context.Context) {
	var s streamRecord
	_, err := v.env.Records.Get(ctx, records.Status+string(v.key), &v.status.message.id)
	_, err2 := v.env.Records.Get(ctx, records.Stream+string(v.key), &s)
	v.env.Records.Warn(ctx, "the messages of an earlier process are not readable", errors.Join(err, err2), "channel", string(v.key))
	v.text.message.id = s.Message
	v.text.setName(s.Name)
}
