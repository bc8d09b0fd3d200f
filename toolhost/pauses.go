package toolhost

import (
	"time"

	"bareclaw/internal/wait"
)

// minPause is half the pause after the second crash in a row; maxPause bounds the later ones.
const minPause = 25 * time.Millisecond

// pauses say how long to wait before the next start of a tool host. They are used by Run alone.
type pauses struct {
	crashes wait.Backoff
	eased   bool // a rollback of the gateway's own has made them short again
}

func newPauses() pauses {
	return pauses{crashes: wait.Backoff{First: minPause, Most: maxPause}}
}

// next returns how long to wait after a crash: after the first not at all.
func (p *pauses) next() time.Duration {
	pause := p.crashes.Next()
	if p.crashes.Failures() == 1 {
		return 0
	}
	return pause
}

// reset begins anew: a tool host has run for long, or somebody has done something about it.
func (p *pauses) reset() {
	p.crashes.Reset()
	p.eased = false
}

// rolledBack begins anew, once: where rollbacks do not help, the pauses grow.
func (p *pauses) rolledBack() {
	if !p.eased {
		p.crashes.Reset()
		p.eased = true
	}
}
