package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// errCannotCompose means that a delivery makes no sense, now or later.
var errCannotCompose = errors.New("nothing can be made of the delivery")

// The adapter's own kinds of deliveries.
const kindNote core.DeliveryKind = "note" // Body is a Note

// A part is one message of a delivery.
type part interface {
	// send sends it and returns the id of the message that it has become.
	send(ctx context.Context, c *client, to place) (int, error)
}

// A Note is something that the adapter says by itself: the answer to a command, or
// why something was refused.
type Note struct {
	Text    string     `json:"text"` // Markdown
	Buttons [][]Button `json:"buttons,omitempty"`
	ReplyTo int        `json:"reply_to,omitempty"` // the message that it answers
}

// A Button is one to tap, with what is then received: 1 to 64 bytes.
// https://core.telegram.org/bots/api#inlinekeyboardbutton
type Button struct {
	Text string `json:"text"`
	Data string `json:"data"`
}

// say has a note delivered. The id makes it be said once. It blocks while that cannot
// be recorded.
func (a *Adapter) say(ctx context.Context, id string, key core.ChannelKey, n Note) {
	body, err := json.Marshal(n)
	if err == nil {
		d := &core.Delivery{ID: id, Kind: kindNote, Adapter: Name, Channel: key, Body: body}
		for err = a.o.Core.Deliver(ctx, d); isStorage(err) && ctx.Err() == nil; err = a.o.Core.Deliver(ctx, d) {
			pause(ctx, storagePause)
		}
	}
	if err != nil && ctx.Err() == nil {
		a.o.Log.Error("telegram: not said", "channel", string(key), "err", err)
	}
}

// compose returns the parts of a delivery: always the same ones, so that sending
// can go on where an earlier process was.
func (a *Adapter) compose(ctx context.Context, d core.Delivery) ([]part, error) {
	switch d.Kind {
	case core.DeliverReply:
		return a.composeReply(ctx, d)
	case core.DeliverBackground:
		var b core.BackgroundBody
		if err := json.Unmarshal(d.Body, &b); err != nil {
			return nil, fmt.Errorf("%w: %w", errCannotCompose, err)
		}
		return textParts(b.Text, nil, 0), nil
	case core.DeliverApproval:
		return a.composeApproval(ctx, d)
	case core.DeliverApprovalClosed:
		return a.composeApprovalClosed(ctx, d)
	case kindInput:
		return a.composeInput(ctx, d)
	case kindEdit:
		return a.composeEdit(ctx, d)
	case kindNote:
		var n Note
		if err := json.Unmarshal(d.Body, &n); err != nil {
			return nil, fmt.Errorf("%w: %w", errCannotCompose, err)
		}
		return textParts(n.Text, n.Buttons, n.ReplyTo), nil
	}
	return nil, fmt.Errorf("%w: unknown kind %q", errCannotCompose, d.Kind)
}

// composeReply makes the parts of a message's outcome.
func (a *Adapter) composeReply(ctx context.Context, d core.Delivery) ([]part, error) {
	m, err := a.o.Core.Message(ctx, d.Message)
	if err != nil {
		return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
	}
	r := m.Reply
	if r.Coalesced {
		carrier, err := a.o.Core.Message(ctx, r.Into)
		if err != nil {
			return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
		}
		r.Text = carrier.Reply.Text
	}
	return textParts(r.Text, nil, 0), nil
}

// A textPart is a text message.
type textPart struct {
	text     string
	entities []models.MessageEntity
	buttons  [][]Button
	replyTo  int
}

// textParts makes messages of a text in Markdown.
func textParts(text string, buttons [][]Button, replyTo int) []part {
	return documentParts(markdown.Render(text), buttons, replyTo)
}

func (t *textPart) send(ctx context.Context, c *client, to place) (int, error) {
	params := &bot.SendMessageParams{ChatID: to.chat, MessageThreadID: to.thread, Text: t.text, Entities: t.entities}
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

func keyboard(buttons [][]Button) *models.InlineKeyboardMarkup {
	k := &models.InlineKeyboardMarkup{}
	for _, row := range buttons {
		var out []models.InlineKeyboardButton
		for _, b := range row {
			out = append(out, models.InlineKeyboardButton{Text: b.Text, CallbackData: b.Data})
		}
		k.InlineKeyboard = append(k.InlineKeyboard, out)
	}
	return k
}
