package core

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// UpdateKind is the kind of an [Update].
type UpdateKind string

// The kinds of updates.
const (
	UpdateAccepted       UpdateKind = "accepted" // Message
	UpdateQueued         UpdateKind = "queued"   // Message, Position; Detail: reason to wait besides earlier messages
	UpdateStarted        UpdateKind = "started"  // Turn, Messages
	UpdateEvent          UpdateKind = "event"    // Turn, Messages, Raw
	UpdateResult         UpdateKind = "result"   // Message with its outcome; a single update for each message
	UpdateApproval       UpdateKind = "approval" // Approval
	UpdateApprovalClosed UpdateKind = "approval_closed"
	UpdateBackground     UpdateKind = "background" // Background
	UpdateRetrying       UpdateKind = "retrying"   // Detail
	UpdateStalled        UpdateKind = "stalled"    // Turn, Messages, Detail: duration of the silence, and the last activity before
	UpdateParked         UpdateKind = "parked"     // Messages that wait, Detail: why no turn is begun, and until when
	UpdateSession        UpdateKind = "session"    // Detail: the event in the session's life
	UpdateDropped        UpdateKind = "dropped"    // Dropped events: the subscriber was too slow
)

// An Update is an event on a channel. The Message of an Update has no content.
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

// An UpdateID identifies an update among all updates of the channel, even across restarts of
// the gateway. The zero value identifies no update. Clients must treat the text form as
// opaque.
type UpdateID struct {
	Stream uint64 // random number of the feed
	Number uint64 // increases by one with each update of the feed
}

// updateIDBase keeps the text short, since every event of a stream carries an id.
const updateIDBase = 36

// IsZero reports whether the id identifies no update.
func (id UpdateID) IsZero() bool { return id == UpdateID{} }

// Until reports whether id equals other or precedes other. Until returns false for ids of
// different feeds, whose order is unknown.
func (id UpdateID) Until(other UpdateID) bool {
	return !id.IsZero() && id.Stream == other.Stream && id.Number <= other.Number
}

// String returns the form read by [ParseUpdateID].
func (id UpdateID) String() string { return string(id.Append(nil)) }

// Append appends the form of String to b.
func (id UpdateID) Append(b []byte) []byte {
	b = append(strconv.AppendUint(b, id.Stream, updateIDBase), '-')
	return strconv.AppendUint(b, id.Number, 10)
}

// ParseUpdateID parses the text of an id. ParseUpdateID accepts only texts returned by
// String, because the text may come from untrusted clients.
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
