package core

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// UpdateKind names what an [Update] reports.
type UpdateKind string

// The kinds of updates.
const (
	UpdateAccepted       UpdateKind = "accepted" // Message
	UpdateQueued         UpdateKind = "queued"   // Message, Position; Detail: what keeps it waiting, besides those before it
	UpdateStarted        UpdateKind = "started"  // Turn, Messages
	UpdateEvent          UpdateKind = "event"    // Turn, Messages, Raw
	UpdateResult         UpdateKind = "result"   // Message with its outcome; one update a message
	UpdateApproval       UpdateKind = "approval" // Approval
	UpdateApprovalClosed UpdateKind = "approval_closed"
	UpdateBackground     UpdateKind = "background" // Background
	UpdateRetrying       UpdateKind = "retrying"   // Detail
	UpdateStalled        UpdateKind = "stalled"    // Turn, Messages, Detail: how long nothing was heard, and of what last
	UpdateParked         UpdateKind = "parked"     // Messages that wait, Detail: why nothing is begun, and until when
	UpdateSession        UpdateKind = "session"    // Detail: what happened to the session
	UpdateDropped        UpdateKind = "dropped"    // Dropped events: the subscriber was too slow
)

// An Update is one thing that happened on a channel. A Message in it has no
// content.
type Update struct {
	ID         UpdateID // zero for UpdateDropped
	Kind       UpdateKind
	At         time.Time
	Turn       TurnID
	Messages   []MessageID
	Message    *Message
	Position   int
	Raw        json.RawMessage // the agent's line, unchanged; must not be modified
	Approval   *Approval
	Background *Background
	Detail     string
	Dropped    int
}

// An UpdateID names an update among all that its channel ever had, also over
// restarts of the gateway. The zero value names none. What it looks like as text
// means nothing to others.
type UpdateID struct {
	Stream uint64 // the feed's own random number
	Number uint64 // rises by one with each update of the feed
}

// updateIDBase keeps the text short: each event of a stream bears one.
const updateIDBase = 36

// IsZero reports whether the id names no update.
func (id UpdateID) IsZero() bool { return id == UpdateID{} }

// Until reports whether the update is the other one or came before it. Of updates of
// different feeds that is not known, and it is false.
func (id UpdateID) Until(other UpdateID) bool {
	return !id.IsZero() && id.Stream == other.Stream && id.Number <= other.Number
}

// String is the form that [ParseUpdateID] reads.
func (id UpdateID) String() string { return string(id.Append(nil)) }

// Append appends that form to b.
func (id UpdateID) Append(b []byte) []byte {
	b = append(strconv.AppendUint(b, id.Stream, updateIDBase), '-')
	return strconv.AppendUint(b, id.Number, 10)
}

// ParseUpdateID reads the text of an id. It takes nothing that String does not
// return, since the text may come from anybody.
func ParseUpdateID(s string) (UpdateID, error) {
	feed, n, _ := strings.Cut(s, "-")
	var id UpdateID
	var feedErr, numberErr error
	id.Stream, feedErr = strconv.ParseUint(feed, updateIDBase, 64)
	id.Number, numberErr = strconv.ParseUint(n, 10, 64)
	if feedErr != nil || numberErr != nil || id.Stream == 0 || id.String() != s {
		return UpdateID{}, fmt.Errorf("%.40q is no id of an update", s)
	}
	return id, nil
}
