package mounts

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
)

// A State is what a mounted server does.
type State string

// The states.
const (
	StateUnusable State = "unusable" // its description is wrong
	StateDisabled State = "disabled"
	StateStarting State = "starting" // its tools are not known yet: it is being started, or about to be
	StateFailing  State = "failing"  // its last start has failed
	StateIdle     State = "idle"     // its next call starts it
	StateRunning  State = "running"
)

// A Status says how a mounted server does.
type Status struct {
	Name     string
	State    State
	Problem  string // why it is unusable or failing; empty: it is neither
	Target   string // as that of a Server
	Scope    Scope
	Category tools.Category
	Since    time.Time // of the first list; zero: none
	Tools    int       // that are offered
	Asks     int       // how many of them ask a person
	Changed  []string  // which have changed since people know them
	LeftOut  []string  // why others are not offered
	Counts
	Instances []InstanceStatus
}

// Counts are what a mount has done since the gateway started.
type Counts struct {
	Calls    int
	Failures int // calls and starts
	Starts   int
}

// An InstanceStatus says how a running server does.
type InstanceStatus struct {
	Channel core.ChannelKey // whose it is; empty: everybody's
	PID     int             // 0: the server has a URL
	Since   time.Time
	Calls   int    // under way
	Mark    string // of its processes
}

// Status returns how the mounted servers do, by name, and what is wrong with the file, in a sentence; empty: nothing.
func (r *Mounts) Status() (all []Status, problem string) {
	r.mu.Lock()
	mounts := slices.Collect(maps.Values(r.mounts))
	faults := maps.Clone(r.faults)
	problem = r.problem
	r.mu.Unlock()
	for _, m := range mounts {
		all = append(all, m.status())
	}
	for name, fault := range faults {
		all = append(all, Status{Name: name, State: StateUnusable, Problem: fault})
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return all, problem
}

// LeftOut returns what of the file is left out, in sentences: see [File.LeftOut].
func (r *Mounts) LeftOut() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.leftOut)
}

func (m *mount) status() Status {
	pool := m.pool.status()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Status{
		Name:      m.server.Name,
		State:     m.state(&pool),
		Problem:   pool.problem,
		Target:    m.server.Target(),
		Scope:     cmp.Or(m.server.Scope, Shared),
		Category:  m.server.CategoryOf(),
		Since:     m.known.Since,
		Tools:     len(m.offered),
		LeftOut:   m.leftOut,
		Instances: pool.instances,
		Counts: Counts{
			Calls:    m.calls,
			Failures: pool.failures,
			Starts:   pool.starts,
		},
	}
	slices.SortFunc(s.Instances, func(a, b InstanceStatus) int { return cmp.Compare(a.Channel, b.Channel) })
	if !m.known.isCurrent(m.entry) {
		return s
	}
	for _, t := range m.server.listed(&m.known) {
		if t.Asks && m.offered[t.Name] {
			s.Asks++
		}
		if t.Changed {
			s.Changed = append(s.Changed, t.Name)
		}
	}
	return s
}

// state returns what the server does; mu is held.
func (m *mount) state(p *poolStatus) State {
	switch {
	case m.server.Disabled:
		return StateDisabled
	case p.problem != "":
		return StateFailing
	case !m.known.isCurrent(m.entry) || m.pending:
		return StateStarting
	case len(p.instances) > 0:
		return StateRunning
	}
	return StateIdle
}

// status returns how the instance does; the pool's mu is held.
func (i *instance) status() InstanceStatus {
	s := InstanceStatus{
		Channel: i.caller,
		Since:   i.began,
		Calls:   i.users,
	}
	select {
	case <-i.ready:
		if i.link != nil && i.link.process != nil {
			s.PID = i.link.process.cmd.Process.Pid
			s.Mark = i.link.process.mark
		}
	default: // it starts
	}
	return s
}
