// Package findings keeps the problems of a web app, each from the request that first shows it until
// requests prove that it is gone.
package findings

import (
	"slices"
	"time"

	"bareclaw/observe/rules"
)

// A State is how far a finding has come.
type State string

// The states.
const (
	Open     State = "open"
	Fixing   State = "fixing" // somebody works on it
	Resolved State = "resolved"
)

// A Finding is a problem of the app.
type Finding struct {
	ID          string         `json:"id"` // see rules.FindingID
	Rule        string         `json:"rule"`
	Severity    rules.Severity `json:"severity"`
	Endpoint    string         `json:"endpoint"` // or rules.Global
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Advice      string         `json:"advice"`
	Likely      bool           `json:"likely,omitempty"`

	State       State     `json:"state"`
	Regressed   bool      `json:"regressed,omitempty"` // was resolved, and came back
	Reopens     int       `json:"reopens,omitempty"`   // how often
	Occurrences int       `json:"occurrences"`         // requests that had it
	CleanHits   int       `json:"cleanHits"`           // requests since the latest occurrence that prove the contrary
	FirstSeen   time.Time `json:"firstSeen"`
	LastSeen    time.Time `json:"lastSeen"`            // when the latest request that had it began
	ResolvedAt  time.Time `json:"resolvedAt,omitzero"` // when the latest request began that proves the contrary
	Requests    []string  `json:"requests"`            // ids of the latest that had it, the newest last, at most keptRequests
	Fix         *Fix      `json:"fix,omitempty"`
}

// A Fix is what somebody reported of a finding.
type Fix struct {
	Status FixStatus `json:"status"`
	Note   string    `json:"note,omitempty"`
	At     time.Time `json:"at"`
	Failed bool      `json:"failed,omitempty"` // the problem was seen again after Status was Fixed
}

// A FixStatus is what is reported.
type FixStatus string

// What is reported.
const (
	FixBegun FixStatus = "fixing"
	Fixed    FixStatus = "fixed"
	WontFix  FixStatus = "wont_fix" // not told again
)

// statuses are all.
func statuses() []FixStatus { return []FixStatus{FixBegun, Fixed, WontFix} }

// IsKnown reports whether a status is one of those that are reported.
func (s FixStatus) IsKnown() bool { return slices.Contains(statuses(), s) }

// CleanHitsForResolution is how many requests must prove that a problem is gone
// (CLEAN_HITS_FOR_RESOLUTION).
const CleanHitsForResolution = 5

// Bounds of what is kept.
const (
	maxFindings   = 1000
	keptRequests  = 10   // of a finding
	keptEndpoints = 20   // of a finding of the whole app
	maxNote       = 1000 // bytes of what is reported of a fix
)
