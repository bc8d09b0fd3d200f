package telegram

import (
	"context"
	"strings"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// maxText is the length of the longest message, in UTF-16 units:
// https://core.telegram.org/bots/api#sendmessage
const maxText = 4096

// A textPart is a text message, or what becomes of one that was sent.
type textPart struct {
	text     string
	entities []models.MessageEntity
	buttons  [][]Button // under the message
	replyTo  int        // the message that it answers
	edit     int        // the message that it takes the place of, if that is still there
}

// textParts makes messages of a text in Markdown. The buttons are under the last one.
func textParts(source string, buttons [][]Button, replyTo int) []part {
	parts := documentParts(markdown.Render(source))
	if len(parts) > 0 {
		parts[0].(*textPart).replyTo = replyTo
		parts[len(parts)-1].(*textPart).buttons = buttons
	}
	return parts
}

// documentParts makes messages of a document; none of one in which nothing is seen.
func documentParts(doc markdown.Document) []part {
	chunks := doc.Split(maxText)
	parts := make([]part, len(chunks))
	for i, c := range chunks {
		parts[i] = &textPart{text: c.Text, entities: c.Entities}
	}
	return parts
}

// answerParts makes messages of an answer. Of a long one the first part is followed
// by all of it as a file.
func (a *Adapter) answerParts(source string, edit, replyTo int) []part {
	parts := textParts(source, nil, replyTo)
	if len(parts) == 0 {
		parts = textParts("(nothing that can be shown)", nil, replyTo)
	}
	if len(parts) > a.o.FileOver {
		parts = []part{parts[0], &filePart{name: "answer.md", content: source, caption: "The whole answer."}}
	}
	parts[0].(*textPart).edit = edit
	return parts
}

func (t *textPart) send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	id, err := t.sendAs(ctx, c, to)
	if botapi.Refused(err, "entit") { // should its formatting be refused after all, the words are not
		plain := *t
		plain.entities = nil
		return plain.sendAs(ctx, c, to)
	}
	return id, err
}

func (t *textPart) sendAs(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	if t.edit != 0 {
		err := t.change(ctx, c, to)
		if err == nil || !botapi.Refused(err, "message to edit not found", "message can't be edited", "message_id_invalid") {
			return t.edit, err
		}
	}
	params := &bot.SendMessageParams{ChatID: to.Chat, MessageThreadID: to.Thread, Text: t.text, Entities: t.entities}
	if t.replyTo != 0 {
		params.ReplyParameters = &models.ReplyParameters{MessageID: t.replyTo, AllowSendingWithoutReply: true}
	}
	if len(t.buttons) > 0 {
		params.ReplyMarkup = keyboard(t.buttons)
	}
	m, err := c.SendMessage(ctx, params)
	if err != nil {
		return 0, err
	}
	return m.ID, nil
}

// change edits the message. One that is as it is to be is fine.
func (t *textPart) change(ctx context.Context, c *botapi.Client, to chats.Address) error {
	params := &bot.EditMessageTextParams{ChatID: to.Chat, MessageID: t.edit, Text: t.text, Entities: t.entities}
	if len(t.buttons) > 0 {
		params.ReplyMarkup = keyboard(t.buttons)
	}
	_, err := c.EditMessageText(ctx, params)
	if botapi.NotModified(err) {
		return nil
	}
	return err
}

func keyboard(buttons [][]Button) *models.InlineKeyboardMarkup {
	k := &models.InlineKeyboardMarkup{}
	for _, row := range buttons {
		var out []models.InlineKeyboardButton
		for _, b := range row {
			out = append(out, models.InlineKeyboardButton{Text: markdown.Clean(b.Text), CallbackData: b.Data})
		}
		k.InlineKeyboard = append(k.InlineKeyboard, out)
	}
	return k
}

// A filePart is a text that comes as a file.
type filePart struct{ name, content, caption string }

func (f *filePart) send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	m, err := c.SendDocument(ctx, &bot.SendDocumentParams{
		ChatID: to.Chat, MessageThreadID: to.Thread, Caption: f.caption,
		Document: &models.InputFileUpload{Filename: f.name, Data: strings.NewReader(f.content)},
	})
	if err != nil {
		return 0, err
	}
	return m.ID, nil
}
