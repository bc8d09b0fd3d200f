package core

import (
	"encoding/json"
	"time"
)

// A Delivery is something that an adapter has to bring to a place that may not
// take it at once, or that cannot be asked whether it has: it is on record before
// it is tried, and stays pending until the adapter says what became of it.
type Delivery struct {
	ID      string // unique: a second one with the same id is ignored
	Kind    DeliveryKind
	Adapter string
	Channel ChannelKey
	Message MessageID       // the message whose trace shows it; may be empty
	Body    json.RawMessage // the adapter's own; of a background result its text and whether it is an error

	State     DeliveryState
	Progress  json.RawMessage // the adapter's own: how far it is, such as the remote ids of parts
	Attempts  int             // failed ones
	Error     string          // why the last attempt failed, or why there is none any more
	CreatedAt time.Time
	EndedAt   time.Time // zero while it is pending
}

// DeliveryKind says what is delivered. Adapters have kinds of their own besides
// these.
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

// DeliveryState says where a delivery is; all but pending are final.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending DeliveryState = "pending"
	DeliverySent    DeliveryState = "sent"
	DeliveryFailed  DeliveryState = "failed" // for good: it is not tried again
)

// ReplyDelivery returns the id of the delivery of a message's outcome.
func ReplyDelivery(id MessageID) string { return string(DeliverReply) + ":" + string(id) }
