package toolhost

import "time"

// pauses say how long to wait before the next start of a tool host. The zero value begins with none. They are
// used by Run alone.
type pauses struct {
	failures int  // in a row
	eased    bool // a rollback of the gateway's own has made them short again
}

// next returns how long to wait after a crash: after the first not at all.
func (p *pauses) next() time.Duration {
	p.failures++
	if p.failures == 1 {
		return 0
	}
	return min(25*time.Millisecond<<min(p.failures-1, 12), maxPause)
}

// reset begins anew: a tool host has run for long, or somebody has done something about it.
func (p *pauses) reset() { *p = pauses{} }

// rolledBack begins anew, once: where rollbacks do not help, the pauses grow.
func (p *pauses) rolledBack() {
	if !p.eased {
		*p = pauses{eased: true}
	}
}
