package findings

import "slices"

// A Push is changes that people are told together.
type Push struct {
	Key     string   `json:"key"` // no other push of any store has it; letters, digits and hyphens
	Changes []Change `json:"changes"`
}

// Pushes are what people are told of the findings of a store, one push after the other. Its methods may be called by several
// goroutines at once.
type Pushes struct {
	store *Store
	// current is being told; nil: none is. The store's mu protects it.
	current *Push
}

// NextPush returns what people must be told next; false: nothing. It is the same push, with the same key and changes, until
// it is passed to Delivered, also after a restart: so that it can be sent again with its key if it is unknown whether it has
// arrived. It has been saved by then, if the disk can be written.
func (p *Pushes) NextPush() (Push, bool) {
	push, ok := p.gather()
	p.store.saveUrgent()
	return push, ok
}

func (p *Pushes) gather() (Push, bool) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if p.current != nil {
		return *p.current, true
	}
	changes := p.untold()
	if len(changes) == 0 {
		return Push{}, false
	}
	p.current = &Push{
		Key:     p.store.id + "-" + newStoreID(),
		Changes: changes,
	}
	p.store.note(true)
	return *p.current, true
}

// Delivered notes that people know of a push, and saves that.
func (p *Pushes) Delivered(push Push) {
	p.deliver(push)
	p.store.save()
}

func (p *Pushes) deliver(push Push) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if p.current != nil && p.current.Key == push.Key {
		p.current = nil
		p.store.note(true)
	}
	p.tell(push.Changes)
}

// untold returns what people must be told, the worst first. The caller holds mu.
func (p *Pushes) untold() []Change {
	var changes []Change
	for _, r := range p.store.records {
		if c, ok := r.change(p.store.id); ok {
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return worstFirst(&a.Finding, &b.Finding) })
	return changes
}

// tell notes that people know of changes. The caller holds mu.
func (p *Pushes) tell(changes []Change) {
	for _, c := range changes {
		if r := p.store.records[c.Finding.ID]; r != nil && c.Store == p.store.id {
			r.tell(c)
			p.store.note(true)
		}
	}
}
