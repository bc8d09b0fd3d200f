package findings

import (
	"slices"
)

// A Push is changes that people are told together.
type Push struct {
	Key     string   `json:"key"` // no other push of any store has it; letters, digits and hyphens
	Changes []Change `json:"changes"`
}

// Changed has a value when something may have to be told, or fixed, since it was last received. It is for one receiver.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// NextPush returns what people must be told next; false: nothing. It is the same push, with the same key and changes, until
// it is passed to Delivered, also after a restart: so that it can be sent again with its key if it is unknown whether it has
// arrived. It has been saved by then, if the disk can be written.
func (s *Store) NextPush() (Push, bool) {
	push, ok := s.gather()
	s.saveUrgent()
	return push, ok
}

func (s *Store) gather() (Push, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.push != nil {
		return *s.push, true
	}
	changes := s.untold()
	if len(changes) == 0 {
		return Push{}, false
	}
	s.push = &Push{
		Key:     s.id + "-" + newStoreID(),
		Changes: changes,
	}
	s.note(true)
	return *s.push, true
}

// Delivered notes that people know of a push, and saves that.
func (s *Store) Delivered(p Push) {
	s.deliver(p)
	s.save()
}

func (s *Store) deliver(p Push) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.push != nil && s.push.Key == p.Key {
		s.push = nil
		s.note(true)
	}
	s.tell(p.Changes)
}

// Renew forgets a push of which people were told nothing, and returns what they must be told now, under another key; false:
// nothing. That has been saved by then, if the disk can be written.
func (s *Store) Renew(p Push) (Push, bool) {
	s.mu.Lock()
	if s.push != nil && s.push.Key == p.Key {
		s.push = nil
		s.note(true)
	}
	s.mu.Unlock()
	return s.NextPush()
}

// Untold returns what people must be told, the worst first, also what is in a push that was not delivered. It has
// been saved by then, if the disk can be written.
func (s *Store) Untold() []Change {
	s.saveUrgent()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.untold()
}

// untold returns what people must be told. The caller holds mu.
func (s *Store) untold() []Change {
	var changes []Change
	for _, r := range s.records {
		if c, ok := r.change(s.id); ok {
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return worstFirst(&a.Finding, &b.Finding) })
	return changes
}

// Told notes that people know of these changes, and saves that.
func (s *Store) Told(changes ...Change) {
	s.mu.Lock()
	s.tell(changes)
	s.mu.Unlock()
	s.save()
}

// tell notes that people know of changes. The caller holds mu.
func (s *Store) tell(changes []Change) {
	for _, c := range changes {
		if r := s.records[c.Finding.ID]; r != nil && c.Store == s.id {
			r.tell(c)
			s.note(true)
		}
	}
}
