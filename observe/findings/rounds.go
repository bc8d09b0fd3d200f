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

// NextRound returns the round that is under way, else a new one, of findings that people know, that are open, and that an
// agent may be asked to fix once more: MaxRounds times in all, each time after it was seen again; false: there is none. A round
// is under way until EndRound, also after a restart. It has been saved and counted by then, if the disk can be written.
func (s *Store) NextRound() (Round, bool) {
	round, ok := s.beginRound()
	s.saveUrgent()
	return round, ok
}

func (s *Store) beginRound() (Round, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.round != nil {
		return s.round.copy(), true
	}
	var chosen []*record
	for _, r := range s.records {
		if r.needsFix() {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return Round{}, false
	}
	slices.SortFunc(chosen, func(a, b *record) int { return worstFirst(&a.Finding, &b.Finding) })
	chosen = chosen[:min(len(chosen), maxRoundFindings)]
	hash := sha256.New()
	s.round = &Round{}
	for _, r := range chosen {
		r.Rounds++
		r.InRound = true
		s.round.Findings = append(s.round.Findings, r.Finding.ID)
		_, _ = fmt.Fprintf(hash, "%s-%d-%d\n", r.Finding.ID, r.Finding.Reopens, r.Rounds)
	}
	s.round.Key = "fix-" + s.id + "-" + hex.EncodeToString(hash.Sum(nil)[:16])
	s.note(true)
	return s.round.copy(), true
}

// RoundAccepted notes that the agent has been sent the message of a round, and saves that.
func (s *Store) RoundAccepted(key, message string) {
	s.mu.Lock()
	if s.round != nil && s.round.Key == key {
		accepted := s.round.copy() // the one before may be being saved
		accepted.Message = message
		s.round = &accepted
		s.note(true)
	}
	s.mu.Unlock()
	s.save()
}

// EndRound notes that the agent has ended a round, or will not begin it, and saves that. Findings that it has begun to fix,
// without a word of how that ended, are open again.
func (s *Store) EndRound(key string) {
	s.endRound(key, time.Now())
	s.save()
}

func (s *Store) endRound(key string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.round == nil || s.round.Key != key {
		return
	}
	for _, id := range s.round.Findings {
		r := s.records[id]
		if r == nil { // was cleared
			continue
		}
		r.InRound = false
		r.RoundEnded = now
		r.apply(event{
			kind: abandoned,
			at:   now,
		})
	}
	s.round = nil
	s.note(true)
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
