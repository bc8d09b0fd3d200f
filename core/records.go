package core

import (
	"encoding/json"
	"time"
)

// A Record is a small thing that an adapter keeps: it is only the adapter's to
// understand.
type Record struct {
	Owner string          // the adapter
	Key   string          // unique for the owner
	Doc   json.RawMessage // nil: there is none any more
	At    time.Time       // when it was written
}

// A RecordRange names records: the owner's whose key begins with Prefix and that
// were written before a time.
type RecordRange struct {
	Owner, Prefix string
	Before        time.Time
}

// An Inbound is something that came from a remote place which forgets it once it
// is acknowledged: it is on record before that, and stays open until the adapter
// has made of it what there is to be made.
type Inbound struct {
	ID         string // unique: a second one with the same id is ignored
	Adapter    string
	Body       json.RawMessage // as it came
	ReceivedAt time.Time
	Handled    bool // Body is gone then
}
