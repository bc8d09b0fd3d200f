package findings

import (
	"context"
	"slices"
	"strings"
	"time"
)

// saveInterval is how long counts of findings may be unsaved.
const saveInterval = 10 * time.Second

// Run saves the findings as they change, until ctx ends.
func (s *Store) Run(ctx context.Context) {
	ticker := time.NewTicker(saveInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			s.save()
			return
		case <-s.wake:
		case <-ticker.C:
		}
		s.save()
	}
}

// save writes the findings if there is something to save.
func (s *Store) save() {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.write()
}

// saveUrgent is save if a state has changed since the latest save. It waits for a save that is under way.
func (s *Store) saveUrgent() {
	s.saving.Lock()
	defer s.saving.Unlock()
	if s.isUrgent() {
		s.write()
	}
}

func (s *Store) isUrgent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.urgent
}

// write writes the findings if there is something to save. The caller holds saving.
func (s *Store) write() {
	d, ok := s.document()
	if !ok {
		return
	}
	if err := s.file.write(d); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unsaved = true // the next tick tries again
	}
}

// document returns what is to be saved; false: nothing is.
func (s *Store) document() (document, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unsaved {
		return document{}, false
	}
	s.unsaved = false
	s.urgent = false
	d := document{
		Version:  version,
		Store:    s.id,
		Push:     s.pushes.current,
		Round:    s.rounds.current,
		Findings: make([]record, 0, len(s.records)),
	}
	for _, r := range s.records {
		saved := *r
		saved.Clean = slices.Clone(r.Clean)
		d.Findings = append(d.Findings, saved)
	}
	slices.SortFunc(d.Findings, func(a, b record) int { return strings.Compare(a.Finding.ID, b.Finding.ID) })
	return d, true
}
