package analysis

import "time"

// How much is looked at in a second, so that the app under a load test has the machine.
const (
	maxLooks = 300
	maxBusy  = 250 * time.Millisecond
)

// pace counts the looks of a second. The zero value has counted none.
type pace struct {
	second time.Time // when the second began
	looks  int
	busy   time.Duration
}

// count counts a look, and returns how long to pause before the next one.
func (p *pace) count(begun, ended time.Time) time.Duration {
	if begun.Sub(p.second) >= time.Second {
		*p = pace{second: begun}
	}
	p.looks++
	p.busy += ended.Sub(begun)
	if p.looks < maxLooks && p.busy < maxBusy {
		return 0
	}
	return max(0, time.Second-ended.Sub(p.second))
}
