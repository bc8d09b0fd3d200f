package telegram

import (
	"context"
	"encoding/json"
	"fmt"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"

	"github.com/go-telegram/bot"
)

// kindEdit changes a message that was sent. Body is an edit.
const kindEdit core.DeliveryKind = "edit"

// An edit says which message changes, and to what.
type edit struct {
	Message  int    `json:"message,omitempty"`  // either its id,
	Of       string `json:"of,omitempty"`       // or the delivery that it is the last message of
	Approval string `json:"approval,omitempty"` // to what this approval looks like when it is sent, by default where it is asked,
	Remove   bool   `json:"remove,omitempty"`   // to nothing,
	Note     Note   `json:"note"`               // or else to this
}

// change has a message edited. The id makes it be done once; it is done after what
// was to be said before.
func (a *Adapter) change(ctx context.Context, id string, key core.ChannelKey, e edit) {
	body, err := json.Marshal(e)
	if err == nil {
		err = a.o.Core.Deliver(ctx, &core.Delivery{ID: id, Kind: kindEdit, Adapter: Name, Channel: key, Body: body})
	}
	if err != nil && ctx.Err() == nil {
		a.o.Log.Error("telegram: not changed", "channel", string(key), "err", err)
	}
}

// composeEdit makes the part that changes a message.
func (a *Adapter) composeEdit(ctx context.Context, d core.Delivery) ([]part, error) {
	var e edit
	if err := json.Unmarshal(d.Body, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", errCannotCompose, err)
	}
	if e.Approval != "" {
		return a.composeApprovalEdit(ctx, e.Approval, e.Message)
	}
	to := &editPart{message: e.Message, document: markdown.Render(e.Note.Text), buttons: e.Note.Buttons, remove: e.Remove}
	if e.Of != "" {
		sent, err := a.sentAs(ctx, e.Of)
		if err != nil {
			return nil, err
		}
		to.message = last(sent)
	}
	return []part{to}, nil
}

// sentAs returns the messages that a delivery has become so far.
func (a *Adapter) sentAs(ctx context.Context, delivery string) ([]int, error) {
	d, err := a.o.Core.Delivery(ctx, delivery)
	if err != nil {
		return nil, fmt.Errorf("read what was sent: %w", err)
	}
	var done sendState
	if d.Progress != nil {
		if err := json.Unmarshal(d.Progress, &done); err != nil {
			return nil, fmt.Errorf("read how far delivery %s is: %w", delivery, err)
		}
	}
	return done.Sent, nil
}

func last(ids []int) int {
	if len(ids) == 0 {
		return 0
	}
	return ids[len(ids)-1]
}

// An editPart gives a message another text and other buttons. Message 0 was never
// sent, so that there is nothing to change.
type editPart struct {
	message  int
	document markdown.Document
	buttons  [][]Button
	remove   bool // it is taken away instead
}

func (e *editPart) send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error) {
	if e.remove && e.message != 0 {
		_, err := c.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: to.Chat, MessageID: e.message})
		if botapi.Refused(err, "message to delete not found", "message can't be deleted") {
			err = nil
		}
		return 0, err
	}
	pieces := e.document.Split(maxText)
	if e.message == 0 || len(pieces) == 0 {
		return 0, nil
	}
	params := &bot.EditMessageTextParams{ChatID: to.Chat, MessageID: e.message, Text: pieces[0].Text, Entities: pieces[0].Entities}
	if len(e.buttons) > 0 {
		params.ReplyMarkup = keyboard(e.buttons)
	}
	_, err := c.EditMessageText(ctx, params)
	if err != nil && !botapi.NotModified(err) && !botapi.Refused(err, "message to edit not found", "message can't be edited", "message_id_invalid") {
		return 0, err
	}
	return e.message, nil
}
