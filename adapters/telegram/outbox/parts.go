package outbox

import (
	"context"
	"strings"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/view"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// A Part is a single message of a delivery.
type Part interface {
	// Send sends the message and returns its id.
	Send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error)
}

// A Text is a new text message, or a new text for a sent message.
type Text struct {
	markdown.Document
	Buttons [][]view.Button
	ReplyTo int // answered message
	Replace int // message to replace, if still editable
}

// Parts returns the messages of a document; none if the document has nothing visible.
func Parts(doc markdown.Document) []Part {
	chunks := doc.Split(markdown.MaxUnits)
	parts := make([]Part, len(chunks))
	for i, c := range chunks {
		parts[i] = &Text{Document: c}
	}
	return parts
}

// NoteParts returns the messages of a note. The buttons are below the last message.
func NoteParts(n view.Note) []Part {
	parts := Parts(markdown.Render(n.Text))
	if len(parts) > 0 {
		parts[0].(*Text).ReplyTo = n.ReplyTo
		parts[len(parts)-1].(*Text).Buttons = n.Buttons
	}
	return parts
}

// AnswerParts returns the messages of an answer, or of too many messages the first, and a
// file with the whole answer.
func (o *Outbox) AnswerParts(source string, replace, replyTo int) []Part {
	parts := NoteParts(view.Note{Text: source, ReplyTo: replyTo})
	if len(parts) == 0 {
		parts = NoteParts(view.Note{Text: "(The answer contains nothing that can be displayed.)", ReplyTo: replyTo})
	}
	if len(parts) > o.fileOver {
		parts = []Part{parts[0], &File{Name: "answer.md", Content: source, Caption: "The whole answer."}}
	}
	parts[0].(*Text).Replace = replace
	return parts
}

// Send sends or edits the message. If Telegram refuses the formatting, Send sends the
// plain text.
func (t *Text) Send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	id, err := t.send(ctx, c, to)
	if botapi.Refused(err, "entit") {
		plain := *t
		plain.Entities = nil
		return plain.send(ctx, c, to)
	}
	return id, err
}

func (t *Text) send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	if t.Replace != 0 {
		err := t.Edit(ctx, c, to)
		if err == nil || !notEditable(err) {
			return t.Replace, err
		}
	}
	params := &bot.SendMessageParams{ChatID: to.Chat, MessageThreadID: to.Thread, Text: t.Text, Entities: t.Entities}
	if t.ReplyTo != 0 {
		params.ReplyParameters = &models.ReplyParameters{MessageID: t.ReplyTo, AllowSendingWithoutReply: true}
	}
	if len(t.Buttons) > 0 {
		params.ReplyMarkup = keyboard(t.Buttons)
	}
	m, err := c.SendMessage(ctx, params)
	if err != nil {
		return 0, err
	}
	return m.ID, nil
}

// Edit sets the text of the message to replace. An unchanged text is no error.
func (t *Text) Edit(ctx context.Context, c *botapi.Client, to chats.Address) error {
	params := &bot.EditMessageTextParams{ChatID: to.Chat, MessageID: t.Replace, Text: t.Text, Entities: t.Entities}
	if len(t.Buttons) > 0 {
		params.ReplyMarkup = keyboard(t.Buttons)
	}
	_, err := c.EditMessageText(ctx, params)
	if botapi.NotModified(err) {
		return nil
	}
	return err
}

func notEditable(err error) bool {
	return botapi.Refused(err, "message to edit not found", "message can't be edited", "message_id_invalid")
}

func keyboard(buttons [][]view.Button) *models.InlineKeyboardMarkup {
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

// A Change edits or deletes a sent message. Message 0 was never sent, and leaves nothing
// to change.
type Change struct {
	Message int
	Chat    int64 // of the message; 0: the chat of the delivery
	Text    Text
	Delete  bool
}

// Send changes the message. A message that is gone, or too old to change, is no error.
func (e *Change) Send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	pieces := e.Text.Split(markdown.MaxUnits)
	switch {
	case e.Message == 0, e.Chat != 0 && e.Chat != to.Chat:
		return 0, nil
	case e.Delete:
		_, err := c.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: to.Chat, MessageID: e.Message})
		if botapi.Refused(err, "message to delete not found", "message can't be deleted") {
			err = nil
		}
		return 0, err
	case len(pieces) == 0:
		return 0, nil
	}
	text := Text{Document: pieces[0], Buttons: e.Text.Buttons, Replace: e.Message}
	if err := text.Edit(ctx, c, to); err != nil && !notEditable(err) {
		return 0, err
	}
	return e.Message, nil
}

// A File is a text sent as a file.
type File struct{ Name, Content, Caption string }

// Send sends the file.
func (f *File) Send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	m, err := c.SendDocument(ctx, &bot.SendDocumentParams{
		ChatID: to.Chat, MessageThreadID: to.Thread, Caption: f.Caption,
		Document: &models.InputFileUpload{Filename: f.Name, Data: strings.NewReader(f.Content)},
	})
	if err != nil {
		return 0, err
	}
	return m.ID, nil
}
