package core

import (
	"encoding/json"
	"time"
)

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
