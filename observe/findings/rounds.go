package findings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"bareclaw/observe/rules"
)

// MaxRounds is how often an agent is asked to fix a finding.
const MaxRounds = 3

// maxRoundFindings bounds the findings of a round.
const maxRoundFindings = 10

// A Round is a run of an agent that is to fix findings.
type Round struct {
	Key      string   `json:"key"`               // no other round of any store has it; letters, digits and hyphens
	Findings []string `json:"findings"`          // ids, the worst first
	Message  string   `json:"message,omitempty"` // that the agent was sent; empty: it is unknown whether it was
}

// copy returns a copy that a store will not change.
func (r *Round) copy() Round {
	c := *r
	c.Findings = slices.Clone(r.Findings)
	return c
}

// Rounds are the runs of agents that fix findings of a store, one after the other. Its methods may be called by several
// goroutines at once.
type Rounds struct {
	store *Store
	// current is under way; nil: none is. The store's mu protects it.
	current *Round
}

// NextRound returns the round that is under way, else a new one, of findings that people know, that are open, and that an
// agent may be asked to fix once more: MaxRounds times in all, each time after it was seen again; false: there is none. A round
// is under way until EndRound, also after a restart. It has been saved and counted by then, if the disk can be written.
func (r *Rounds) NextRound() (Round, bool) {
	round, ok := r.begin()
	r.store.saveUrgent()
	return round, ok
}

func (r *Rounds) begin() (Round, bool) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	if r.current != nil {
		return r.current.copy(), true
	}
	chosen := r.choose()
	if len(chosen) == 0 {
		return Round{}, false
	}
	hash := sha256.New()
	r.current = &Round{}
	for _, rec := range chosen {
		rec.Rounds++
		rec.InRound = true
		r.current.Findings = append(r.current.Findings, rec.Finding.ID)
		_, _ = fmt.Fprintf(hash, "%s-%d-%d\n", rec.Finding.ID, rec.Finding.Reopens, rec.Rounds)
	}
	r.current.Key = "fix-" + r.store.id + "-" + hex.EncodeToString(hash.Sum(nil)[:16])
	r.store.note(true)
	return r.current.copy(), true
}

// choose returns the findings of the next round, the worst first. The caller holds mu.
func (r *Rounds) choose() []*record {
	var chosen []*record
	for _, rec := range r.store.records {
		if rec.needsFix() {
			chosen = append(chosen, rec)
		}
	}
	slices.SortFunc(chosen, func(a, b *record) int { return worstFirst(&a.Finding, &b.Finding) })
	return chosen[:min(len(chosen), maxRoundFindings)]
}

// RoundAccepted notes that the agent has been sent the message of a round, and saves that.
func (r *Rounds) RoundAccepted(key, message string) {
	r.accept(key, message)
	r.store.save()
}

func (r *Rounds) accept(key, message string) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	if r.current == nil || r.current.Key != key {
		return
	}
	accepted := r.current.copy() // the one before may be being saved
	accepted.Message = message
	r.current = &accepted
	r.store.note(true)
}

// EndRound notes that the agent has ended a round, or will not begin it, and saves that. Findings that it has begun to fix,
// without a word of how that ended, are open again.
func (r *Rounds) EndRound(key string) {
	r.end(key, time.Now())
	r.store.save()
}

func (r *Rounds) end(key string, now time.Time) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	if r.current == nil || r.current.Key != key {
		return
	}
	for _, id := range r.current.Findings {
		rec := r.store.records[id]
		if rec == nil { // was cleared
			continue
		}
		rec.InRound = false
		rec.RoundEnded = now
		rec.apply(event{
			kind: abandoned,
			at:   now,
		})
	}
	r.current = nil
	r.store.note(true)
}

// needsFix reports whether an agent is to be asked to fix a finding.
func (r *record) needsFix() bool {
	f := &r.Finding
	_, isUntold := r.news()
	isOpen := f.State == Open && f.Severity != rules.Info && !f.Fix.reported(WontFix)
	isSeenAgain := r.Rounds == 0 || f.LastSeen.After(r.RoundEnded)
	return isOpen && !isUntold && isSeenAgain && !r.InRound && r.Rounds < MaxRounds
}

// isGivenUp reports whether an agent has tried in vain to fix a finding, and is not asked any more.
func (r *record) isGivenUp() bool {
	return r.Rounds >= MaxRounds && !r.InRound && r.Finding.State == Open
}
