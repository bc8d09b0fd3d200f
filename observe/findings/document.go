package findings

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bareclaw/observe/rules"
)

// Stores are the ids of the stores that this user's observers have begun for an app, kept outside of the directory of the
// app.
type Stores interface {
	// Trusted reports whether an id is that of the store that was begun last, or of the one before: an observer may be
	// killed before all its files have the new id.
	Trusted(store string) bool
	// Remember notes the id of a store that is begun.
	Remember(store string)
}

// A document is what the file of findings holds.
type document struct {
	Version  int      `json:"version"`
	Store    string   `json:"store"`
	Push     *Push    `json:"push,omitempty"`
	Round    *Round   `json:"round,omitempty"`
	Findings []record `json:"findings"`
}

// check returns an error if a document does not hold findings, or those of a store that is not trusted.
func (d *document) check(stores Stores) error {
	switch {
	case d.Version != version:
		return fmt.Errorf("it has version %d, and this program knows version %d", d.Version, version)
	case d.Store == "":
		return errors.New("it has no id")
	case !stores.Trusted(d.Store):
		return &foreignError{"it is not of an observer of this user: it may have come with the directory"}
	case len(d.Findings) > maxFindings:
		return fmt.Errorf("it has %d findings, more than %d", len(d.Findings), maxFindings)
	}
	known := map[string]bool{}
	for i := range d.Findings {
		f := &d.Findings[i].Finding
		if !isID(f.ID) || known[f.ID] {
			return fmt.Errorf("finding %d has no id of its own", i)
		}
		if err := f.check(); err != nil {
			return fmt.Errorf("finding %s: %w", f.ID, err)
		}
		known[f.ID] = true
	}
	return nil
}

// isID reports whether a text has the form of what [rules.FindingID] returns.
func isID(text string) bool {
	const size = 8 // bytes
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == size && strings.ToLower(text) == text
}

// check returns an error if a finding is not one that a store writes.
func (f *Finding) check() error {
	states := []State{Open, Fixing, Resolved}
	switch {
	case f.Rule == "" || f.Endpoint == "":
		return errors.New("it has no rule or no endpoint")
	case !slices.Contains(states, f.State):
		return fmt.Errorf("it has the unknown state %q", f.State)
	case f.Fix != nil && !f.Fix.Status.IsKnown():
		return fmt.Errorf("its fix has the unknown status %q", f.Fix.Status)
	}
	return nil
}

// settle makes a checked document what this program would have written now: rules have the words that they have now, findings
// of rules that are gone are left out, and nothing has happened later than now.
func (d *document) settle(now time.Time) {
	isGone := func(r record) bool { return ruleOf(r.Finding.Rule) == nil }
	d.Findings = slices.DeleteFunc(d.Findings, isGone)
	records := map[string]*record{}
	for i := range d.Findings {
		r := &d.Findings[i]
		r.settle(ruleOf(r.Finding.Rule), now)
		records[r.Finding.ID] = r
	}
	d.settlePush(records, now)
	d.settleRound(records)
}

// ruleOf returns the rule with an id; nil: there is none.
func ruleOf(id string) *rules.Rule {
	for _, r := range allRules() {
		if r.ID == id {
			return &r
		}
	}
	return nil
}

var allRules = sync.OnceValue(rules.All)

// settle is that of a document, for a record.
func (r *record) settle(rule *rules.Rule, now time.Time) {
	r.Finding.settle(rule, now)
	r.RoundEnded = notAfter(r.RoundEnded, now)
	for i := range r.Clean {
		r.Clean[i].At = notAfter(r.Clean[i].At, now)
	}
}

// settle is that of a document, for a finding.
func (f *Finding) settle(rule *rules.Rule, now time.Time) {
	f.Severity = rule.Severity
	f.Title = rule.Title
	f.Advice = rule.Advice
	f.Requests = f.Requests[max(0, len(f.Requests)-keptRequests):]
	f.FirstSeen = notAfter(f.FirstSeen, now)
	f.LastSeen = notAfter(f.LastSeen, now)
	f.ResolvedAt = notAfter(f.ResolvedAt, now)
	if f.Fix != nil {
		f.Fix.Note = cutNote(f.Fix.Note)
		f.Fix.At = notAfter(f.Fix.At, now)
	}
}

// notAfter returns a time, or now if that is earlier.
func notAfter(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return t
}

// settlePush leaves a push with findings that are known, with the words of their rules. What has happened to them since does
// not change it: it has the same text when it is sent again.
func (d *document) settlePush(records map[string]*record, now time.Time) {
	if d.Push == nil {
		return
	}
	kinds := []ChangeKind{New, Reopened, StillThere, GivenUp, ResolvedNews}
	isStrange := func(c Change) bool {
		return c.Store != d.Store || !slices.Contains(kinds, c.Kind) || records[c.Finding.ID] == nil
	}
	changes := slices.DeleteFunc(d.Push.Changes, isStrange)
	for i := range changes {
		f := &changes[i].Finding
		known := &records[f.ID].Finding
		f.Rule = known.Rule
		f.Endpoint = known.Endpoint
		if f.check() != nil {
			*f = known.copy()
		}
		f.settle(ruleOf(known.Rule), now)
	}
	d.Push.Changes = changes
	if len(changes) == 0 || !isKey(d.Push.Key, d.Store+"-") {
		d.Push = nil
	}
}

// settleRound leaves a round with the findings that are known.
func (d *document) settleRound(records map[string]*record) {
	if d.Round == nil {
		return
	}
	isStrange := func(id string) bool { return records[id] == nil }
	d.Round.Findings = slices.DeleteFunc(d.Round.Findings, isStrange)
	if len(d.Round.Findings) == 0 || !isKey(d.Round.Key, "fix-"+d.Store+"-") {
		d.Round = nil
	}
}

// isKey reports whether a text is a key of a push or round: of letters, digits and hyphens, and with this beginning.
func isKey(text, prefix string) bool {
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	}
	return strings.HasPrefix(text, prefix) && !strings.ContainsFunc(text, strange)
}
