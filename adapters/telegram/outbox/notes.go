package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
)

// The kinds of deliveries composed by the outbox, and the kind that the outbox must not
// send to another topic.
const (
	KindNote core.DeliveryKind = "note" // Body is a view.Note
	KindEdit core.DeliveryKind = "edit" // Body is an Edit
	KindPush core.DeliveryKind = "push"
)

// An Edit changes a sent message.
type Edit struct {
	Message  int       `json:"message,omitempty"`  // the message,
	Of       string    `json:"of,omitempty"`       // or the last message of the delivery Of
	Approval string    `json:"approval,omitempty"` // show the approval, by default in the message of the request,
	Remove   bool      `json:"remove,omitempty"`   // delete the message,
	Note     view.Note `json:"note"`               // or show the note,
	// or the document. If Chat is not 0, another chat, which replaced Chat, is not edited.
	Final markdown.Document `json:"final,omitzero"`
	Chat  int64             `json:"chat,omitempty"`
}

// Deliver records a delivery with a body, once for each id, together with records.
func (o *Outbox) Deliver(ctx context.Context, d core.Delivery, body any, also ...env.Entry) (err error) {
	d.Adapter = chats.Name
	if d.Body, err = json.Marshal(body); err != nil {
		return fmt.Errorf("encode delivery %s: %w", d.ID, err)
	}
	rs, err := env.Of(also...)
	if err != nil {
		return err
	}
	return o.env.DeliverWithRecords(ctx, rs, &d)
}

// Say delivers a note, once for each id. Say blocks while the note cannot be recorded.
func (o *Outbox) Say(ctx context.Context, id string, key core.ChannelKey, n view.Note) {
	err := env.UntilRecorded(ctx, func() error { return o.Deliver(ctx, core.Delivery{ID: id, Kind: KindNote, Channel: key}, n) }, nil)
	o.env.Records.Error(ctx, "a note is not delivered", err, "channel", string(key), "delivery", id)
}

// Edit changes a message, once for each id, after the deliveries recorded before. Edit
// records the change together with records.
func (o *Outbox) Edit(ctx context.Context, id string, key core.ChannelKey, e Edit, also ...env.Entry) {
	err := o.Deliver(ctx, core.Delivery{ID: id, Kind: KindEdit, Channel: key}, e, also...)
	o.env.Records.Error(ctx, "a message is not edited", err, "channel", string(key), "delivery", id)
}

// Recorded reports whether a delivery is in the ledger.
func (o *Outbox) Recorded(ctx context.Context, id string) bool {
	_, err := o.env.Delivery(ctx, id)
	if !errors.Is(err, core.ErrNotFound) {
		o.env.Records.Warn(ctx, "a delivery is not readable", err, "delivery", id)
	}
	return err == nil
}

// SentAs returns the messages sent so far for a delivery id.
func (o *Outbox) SentAs(ctx context.Context, delivery string) ([]int, error) {
	d, err := o.env.Delivery(ctx, delivery)
	if err != nil {
		return nil, fmt.Errorf("read what was sent: %w", err)
	}
	return SentBy(d)
}

// SentBy returns the messages sent so far for a delivery.
func SentBy(d core.Delivery) ([]int, error) {
	if d.Progress == nil {
		return nil, nil
	}
	var done sendState
	if err := json.Unmarshal(d.Progress, &done); err != nil {
		return nil, fmt.Errorf("read the progress of delivery %s: %w", d.ID, err)
	}
	return done.Sent, nil
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
	text := Text{Document: e.Final, Buttons: e.Note.Buttons}
	if e.Note.Text != "" {
		text.Document = markdown.Render(e.Note.Text)
	}
	return []Part{&Change{Message: e.Message, Chat: e.Chat, Text: text, Delete: e.Remove}}, nil
}
