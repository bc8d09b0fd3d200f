package gateway

import (
	"sync"

	"bareclaw/core"
)

// waits are the channels whose agents wait for the reply of another channel. There is never a
// circle, in which none could go on. The zero value is ready.
type waits struct {
	mu sync.Mutex
	on map[core.ChannelKey]map[core.ChannelKey]int // who waits for whom, and with how many calls
}

// begin records that caller waits for target, until the returned function is called. begin
// records nothing and returns false if target waits for caller, directly or through others.
func (w *waits) begin(caller, target core.ChannelKey) (end func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reachesLocked(target, caller) {
		return nil, false
	}
	if w.on == nil {
		w.on = map[core.ChannelKey]map[core.ChannelKey]int{}
	}
	if w.on[caller] == nil {
		w.on[caller] = map[core.ChannelKey]int{}
	}
	w.on[caller][target]++
	return func() { w.end(caller, target) }, true
}

func (w *waits) reachesLocked(from, to core.ChannelKey) bool {
	if from == to {
		return true
	}
	for next := range w.on[from] {
		if w.reachesLocked(next, to) {
			return true
		}
	}
	return false
}

func (w *waits) end(caller, target core.ChannelKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	targets := w.on[caller]
	if targets[target]--; targets[target] == 0 {
		delete(targets, target)
	}
	if len(targets) == 0 {
		delete(w.on, caller)
	}
}
