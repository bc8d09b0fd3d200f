package config

// StallAction is what happens to a stuck turn, besides the notice.
type StallAction string

var stallActions = []StallAction{"notify", "interrupt", "kill"}

// Decode reads the name of an action.
func (s *StallAction) Decode(text string) error { return choose(s, text, stallActions) }

// Accepted lists the actions.
func (*StallAction) Accepted() string { return alternatives(stallActions) }

// Approvals is what happens to a permission request; empty means that the channel decides.
type Approvals string

var approvals = []Approvals{"ask", "deny"}

// Decode reads what happens to a permission request.
func (a *Approvals) Decode(text string) error { return choose(a, text, approvals) }

// Accepted lists the choices.
func (*Approvals) Accepted() string { return alternatives(approvals) }
