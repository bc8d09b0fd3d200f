package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/internal/visible"

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

// AnswerParts returns the messages of an answer. If these are too many, AnswerParts returns
// the first, and a file with the whole answer.
func (o *Outbox) AnswerParts(source string, replace, replyTo int) []Part {
	parts := NoteParts(view.Note{Text: source, ReplyTo: replyTo})
	if len(parts) == 0 {
		parts = NoteParts(view.Note{Text: "(The answer contains nothing that can be displayed.)", ReplyTo: replyTo})
	}
	parts = o.OrFile(parts, &File{Name: "answer.md", Content: source, Caption: "The whole answer."})
	parts[0].(*Text).Replace = replace
	return parts
}

// OrFile returns the messages, or, if these are too many, the first and a file with all of them.
func (o *Outbox) OrFile(messages []Part, file *File) []Part {
	if len(messages) > o.fileOver {
		return []Part{messages[0], file}
	}
	return messages
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
	if botapi.Refused(err, "message is not modified") {
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
			out = append(out, models.InlineKeyboardButton{Text: markdown.Clean(visible.Line(b.Text)), CallbackData: b.Data})
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
		ChatID:          to.Chat,
		MessageThreadID: to.Thread,
		Caption:         f.Caption,
		Document:        &models.InputFileUpload{Filename: f.Name, Data: strings.NewReader(f.Content)},
	})
	if err != nil {
		return 0, err
	}
	return m.ID, nil
}

// The kinds of deliveries composed by the outbox, and the kind that the outbox must not
// send to another topic.
const (
	KindNote core.DeliveryKind = "note" // Body is a view.Note
	KindEdit core.DeliveryKind = "edit" // Body is an Edit
	KindPush core.DeliveryKind = "push"
)

// An Edit changes a sent message.
type Edit struct {
	Message  int       `json:"message,omitempty"`  // the message; 0: see Of and Approval
	Of       string    `json:"of,omitempty"`       // the message is the last of this delivery
	Approval string    `json:"approval,omitempty"` // approval to show, by default in the message of the request
	Remove   bool      `json:"remove,omitempty"`   // delete the message
	Note     view.Note `json:"note"`               // new content, without Approval and Remove
	Chat     int64     `json:"chat,omitempty"`     // of the message, if not 0: a chat that replaced Chat has no such message
}

// Deliver records a delivery with a body, once for each id, together with records.
func (o *Outbox) Deliver(ctx context.Context, d core.Delivery, body any, also ...records.Entry) (err error) {
	d.Adapter = chats.Name
	if d.Body, err = json.Marshal(body); err != nil {
		return fmt.Errorf("encode delivery %s: %w", d.ID, err)
	}
	rs, err := records.Of(also...)
	if err != nil {
		return err
	}
	return o.deliveries.Deliver(ctx, &d, rs...)
}

// Redeliver is Deliver for a delivery that may have failed before: if nothing of it was sent, it is
// sent now.
func (o *Outbox) Redeliver(ctx context.Context, d core.Delivery, body any) (err error) {
	d.Adapter = chats.Name
	if d.Body, err = json.Marshal(body); err != nil {
		return fmt.Errorf("encode delivery %s: %w", d.ID, err)
	}
	return o.deliveries.Redeliver(ctx, &d)
}

// Say delivers a note, once for each id. Say blocks while the note cannot be recorded.
func (o *Outbox) Say(ctx context.Context, id string, key core.ChannelKey, n view.Note) {
	err := records.UntilRecorded(ctx, func() error { return o.Deliver(ctx, core.Delivery{ID: id, Kind: KindNote, Channel: key}, n) }, nil)
	o.env.Records.Error(ctx, "a note is not delivered", err, "channel", string(key), "delivery", id)
}

// Edit changes a message, once for each id, after the deliveries recorded before. Edit
// records the change together with records.
func (o *Outbox) Edit(ctx context.Context, id string, key core.ChannelKey, e Edit, also ...records.Entry) {
	err := o.Deliver(ctx, core.Delivery{ID: id, Kind: KindEdit, Channel: key}, e, also...)
	o.env.Records.Error(ctx, "a message is not edited", err, "channel", string(key), "delivery", id)
}

// Recorded reports whether a delivery is in the ledger.
func (o *Outbox) Recorded(ctx context.Context, id string) bool {
	_, err := o.deliveries.Delivery(ctx, id)
	if !errors.Is(err, core.ErrNotFound) {
		o.env.Records.Warn(ctx, "a delivery is not readable", err, "delivery", id)
	}
	return err == nil
}

// SentAs returns the messages sent so far for a delivery id.
func (o *Outbox) SentAs(ctx context.Context, delivery string) ([]int, error) {
	d, err := o.deliveries.Delivery(ctx, delivery)
	if err != nil {
		return nil, fmt.Errorf("read what was sent: %w", err)
	}
	return SentBy(d)
}

// SentBy returns the messages sent so far for a delivery.
func SentBy(d core.Delivery) ([]int, error) {
	done, err := progressOf(d)
	return done.Sent, err
}

// LastSent returns the last message sent for a delivery; 0: none.
func (o *Outbox) LastSent(ctx context.Context, delivery string) (int, error) {
	ids, err := o.SentAs(ctx, delivery)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[len(ids)-1], nil
}

// EditParts composes an edit, except of an approval.
func (o *Outbox) EditParts(ctx context.Context, e Edit) (_ []Part, err error) {
	if e.Of != "" {
		if e.Message, err = o.LastSent(ctx, e.Of); err != nil {
			return nil, err
		}
	}
	text := Text{Document: markdown.Render(e.Note.Text), Buttons: e.Note.Buttons}
	return []Part{&Change{Message: e.Message, Chat: e.Chat, Text: text, Delete: e.Remove}}, nil
}
