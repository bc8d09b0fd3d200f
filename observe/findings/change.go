package findings

import (
	"fmt"

	"bareclaw/observe/rules"
)

// A ChangeKind is what people are told of a finding.
type ChangeKind string

// What people are told.
const (
	New          ChangeKind = "new"
	Reopened     ChangeKind = "reopened"
	StillThere   ChangeKind = "still there" // after a fix was reported
	GivenUp      ChangeKind = "given up"    // an agent has tried MaxRounds times to fix it
	ResolvedNews ChangeKind = "resolved"
)

// A Change is something that people must be told of a finding, once.
type Change struct {
	Kind     ChangeKind `json:"kind"`
	Store    string     `json:"store"`              // the id of the store, which is another one after Clear
	Failures int        `json:"failures,omitempty"` // how many fixes were reported since the problem came (back), and were none
	Finding  Finding    `json:"finding"`
}

// Key returns what tells a change from all others, of letters, digits and hyphens: the id of the store, that of
// the finding, how often it was reopened, and what is told.
func (c Change) Key() string {
	key := fmt.Sprintf("%s-%s-%d", c.Store, c.Finding.ID, c.Finding.Reopens)
	switch c.Kind {
	case StillThere:
		return fmt.Sprintf("%s-still-%d", key, c.Failures)
	case GivenUp:
		return key + "-given-up"
	case ResolvedNews:
		return key + "-resolved"
	default: // New and Reopened
		return key
	}
}

// told is what people know of a finding.
type told struct {
	State    State `json:"state"` // Open or Resolved; empty: they do not know it
	Reopens  int   `json:"reopens,omitempty"`
	Failures int   `json:"failures,omitempty"`
	GivenUp  bool  `json:"givenUp,omitempty"`
}

// news returns what people must be told of a finding, which follows from what they know: a problem that came
// and went before they could be told is none. Findings of [rules.Info], and those that nobody will fix, are not told.
func (r *record) news() (ChangeKind, bool) {
	f := &r.Finding
	known := r.Told
	switch {
	case f.State == "" || f.Severity == rules.Info || f.Fix.reported(WontFix):
		return "", false
	case f.State == Resolved:
		return ResolvedNews, known.State == Open
	case known.State == "" && f.Reopens == 0:
		return New, true
	case r.isGivenUp() && !known.GivenUp:
		return GivenUp, true
	case known.State != Open || known.Reopens < f.Reopens:
		return Reopened, true
	default:
		return StillThere, known.Failures < r.Failures
	}
}

// change returns what people must be told.
func (r *record) change(store string) (Change, bool) {
	kind, ok := r.news()
	if !ok {
		return Change{}, false
	}
	return Change{
		Kind:     kind,
		Store:    store,
		Failures: r.Failures,
		Finding:  r.Finding.copy(),
	}, true
}

// tell notes that people know of a change.
func (r *record) tell(c Change) {
	r.Told = told{
		State:    Open,
		Reopens:  c.Finding.Reopens,
		Failures: c.Failures,
		GivenUp:  r.Told.GivenUp || c.Kind == GivenUp,
	}
	if c.Kind == ResolvedNews {
		r.Told.State = Resolved
	}
}
