package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/core"
	"bareclaw/core/progress"
)

// errCannotCompose means that a delivery makes no sense, now or later.
var errCannotCompose = errors.New("nothing can be made of the delivery")

// The adapter's own kinds of deliveries.
const kindNote core.DeliveryKind = "note" // Body is a Note

// A part is one message of a delivery.
type part interface {
	// send sends it and returns the id of the message that it has become.
	send(ctx context.Context, c *botapi.Client, to chats.Address) (int, error)
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
		for err = a.o.Core.Deliver(ctx, d); tasks.IsStorage(err) && ctx.Err() == nil; err = a.o.Core.Deliver(ctx, d) {
			tasks.Pause(ctx, tasks.StoragePause)
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
		return composed(d, &b, func() []part { return a.answerParts(b.Text, 0, 0) })
	case core.DeliverApproval:
		return a.composeApproval(ctx, d)
	case core.DeliverApprovalClosed:
		return a.composeApprovalClosed(ctx, d)
	case kindInput:
		return a.composeInput(ctx, d)
	case kindEdit:
		return a.composeEdit(ctx, d)
	case kindPush:
		return a.composePush(ctx, d)
	case kindNote:
		var n Note
		return composed(d, &n, func() []part { return textParts(n.Text, n.Buttons, n.ReplyTo) })
	case kindSaid:
		var s saidBody
		return composed(d, &s, func() []part { return a.answerParts(s.Text, s.Edit, 0) })
	case kindChange:
		var c progress.Change
		return composed(d, &c, func() []part { return documentParts(changeDocument(c)) })
	}
	return nil, fmt.Errorf("%w: unknown kind %q", errCannotCompose, d.Kind)
}

// composed decodes a delivery's body and makes its parts.
func composed(d core.Delivery, body any, parts func() []part) ([]part, error) {
	if err := json.Unmarshal(d.Body, body); err != nil {
		return nil, fmt.Errorf("%w: %w", errCannotCompose, err)
	}
	return parts(), nil
}
