package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
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
	DeliveryFailed  DeliveryState = "failed" // final, unless asked for anew and nothing was sent
)

// ReplyDelivery returns the id of the delivery of a message's outcome.
func ReplyDelivery(id MessageID) string { return string(DeliverReply) + ":" + string(id) }

// A Record is a small document kept by an adapter, in the adapter's own format.
type Record struct {
	Owner string          // the adapter's name
	Key   string          // unique within Owner
	Doc   json.RawMessage // nil: the record is removed
	At    time.Time       // time of writing
}

// A RecordRange selects the owner's records with a key that begins with Prefix and a time of
// writing before Before.
type RecordRange struct {
	Owner, Prefix string
	Before        time.Time
}

// An Inbound is an item from a remote place that forgets the item once acknowledged. The
// ledger records the Inbound before the acknowledgement; the Inbound stays open until the
// adapter has processed the item.
type Inbound struct {
	ID         string // unique: a second inbound with the same id is ignored
	Adapter    string
	Body       json.RawMessage // as received
	ReceivedAt time.Time
	Handled    bool // Body is then gone
}

// The reasons for an undelivered push. A push without content fails with ErrBadContent. Any
// error other than these means that the remote side refused the push.
var (
	// ErrNoPusher: no adapter owns the channel's prefix.
	ErrNoPusher = errors.New("no adapter for this channel")
	// ErrNotAllowed: the adapter does not send to the channel.
	ErrNotAllowed = errors.New("the channel is not sent to")
	// ErrUnconfirmed: the push, or a part, may have been delivered or may still be
	// delivered.
	ErrUnconfirmed = errors.New("not known to be delivered")
)

// A PushError says why a push was not delivered. Kind is an error declared above, or nil;
// Text is shown to the person who requested the push.
type PushError struct {
	Kind error
	Text string
}

func (e *PushError) Error() string { return e.Text }

func (e *PushError) Unwrap() error { return e.Kind }

// A Push is a message sent without being a reply.
type Push struct {
	// ID keeps a repeated push from being sent twice: the adapter sends only the first of several pushes with the
	// same ID. If that failed with nothing sent, the ID is free again. A push without an ID is always sent.
	ID      string
	Channel ChannelKey
	Text    string
	Media   *Media
}

// Media is a local file to send. The adapter chooses an empty Type.
type Media struct {
	Path, Type string
}

// A Pusher delivers a push and returns once the remote side has accepted the push. If ctx
// ends earlier, the Pusher withdraws the push or returns ErrUnconfirmed. ErrClosed means
// that the current process will not deliver the push; the next process may, under the same
// ID.
type Pusher func(ctx context.Context, p Push) error

// A PushRegistry routes pushes to the adapter that owns the channel's prefix. The zero value
// is ready; all methods are safe for concurrent use.
type PushRegistry struct {
	mu      sync.RWMutex
	pushers map[string]Pusher
}

// Register makes p responsible for the channels whose key begins with prefix.
func (r *PushRegistry) Register(prefix string, p Pusher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pushers == nil {
		r.pushers = map[string]Pusher{}
	}
	r.pushers[prefix] = p
}

// Prefixes returns the registered prefixes, sorted; never nil.
func (r *PushRegistry) Prefixes() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	prefixes := slices.AppendSeq([]string{}, maps.Keys(r.pushers))
	slices.Sort(prefixes)
	return prefixes
}

// Send hands the push to the adapter with the longest matching prefix. Send returns
// ErrNoPusher without a match; any further error is the adapter's.
func (r *PushRegistry) Send(ctx context.Context, p Push) error {
	r.mu.RLock()
	push, found := ByPrefix(r.pushers, p.Channel)
	r.mu.RUnlock()
	if !found {
		return fmt.Errorf("push to %q: %w", p.Channel, ErrNoPusher)
	}
	return push(ctx, p)
}

// ByPrefix returns the value of the longest prefix of the channel's key.
func ByPrefix[V any](prefixes map[string]V, key ChannelKey) (value V, found bool) {
	longest := -1
	for prefix, v := range prefixes {
		if len(prefix) > longest && strings.HasPrefix(string(key), prefix) {
			longest, value, found = len(prefix), v, true
		}
	}
	return value, found
}
