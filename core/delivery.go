package core

import (
	"encoding/json"
	"time"
)

// A Delivery is content for an adapter to deliver to a remote place that may refuse for a
// while, or cannot be asked whether delivery succeeded. The ledger records a Delivery before
// the first attempt. A Delivery stays pending until the adapter reports the result.
type Delivery struct {
	ID      string          `json:"id,omitempty"` // unique: a second delivery with the same id is ignored
	Kind    DeliveryKind    `json:"kind"`
	Adapter string          `json:"adapter,omitempty"`
	Channel ChannelKey      `json:"channel,omitempty"`
	Message MessageID       `json:"message,omitempty"` // message whose trace shows the delivery; may be empty
	Body    json.RawMessage `json:"body,omitempty"`    // in the adapter's own format; for a background result a BackgroundBody

	State     DeliveryState   `json:"state,omitempty"`
	Progress  json.RawMessage `json:"progress,omitempty"` // in the adapter's own format: completed steps, for example remote ids of parts
	Attempts  int             `json:"attempts,omitempty"` // failed attempts
	Error     string          `json:"error,omitempty"`    // why the last attempt failed, or why no attempt follows
	CreatedAt time.Time       `json:"created_at,omitzero"`
	EndedAt   time.Time       `json:"ended_at,omitzero"` // zero while pending
}

// DeliveryKind is the kind of content delivered. Adapters add kinds of their own.
type DeliveryKind string

// The deliveries that the core makes.
const (
	DeliverReply      DeliveryKind = "reply"      // the outcome of Message
	DeliverBackground DeliveryKind = "background" // Body is a BackgroundBody
)

// A BackgroundBody is the body of a delivered background result.
type BackgroundBody struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error,omitempty"`
}

// DeliveryState is the progress of a delivery; all states but pending are final.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending DeliveryState = "pending"
	DeliverySent    DeliveryState = "sent"
	DeliveryFailed  DeliveryState = "failed" // final: not retried
)

// ReplyDelivery returns the id of the delivery of a message's outcome.
func ReplyDelivery(id MessageID) string { return string(DeliverReply) + ":" + string(id) }
