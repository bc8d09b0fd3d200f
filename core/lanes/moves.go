package lanes

import (
	"slices"
	"sync"
	"time"

	"bareclaw/core"
)

// moves holds the latest move of each moved channel.
type moves struct {
	mu sync.Mutex
	of map[core.ChannelKey]core.Move
}

func (ms *moves) note(mv core.Move) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.of == nil {
		ms.of = map[core.ChannelKey]core.Move{}
	}
	ms.of[mv.From] = mv
}

// superseded reports whether a later move has moved the same session again, so the move mv
// is complete. Repeating mv could replace the target's newer session with a session moved
// back to the source.
func superseded(mv core.Move, later []core.Move) bool {
	return slices.ContainsFunc(later, func(other core.Move) bool { return other.Session == mv.Session })
}

// follow returns the present channel of a conversation on the channel key at the time at.
func (ms *moves) follow(key core.ChannelKey, at time.Time) core.ChannelKey {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for range len(ms.of) { // moves may form a circle
		mv, ok := ms.of[key]
		if !ok || mv.At.Before(at) {
			break
		}
		key, at = mv.To, mv.At
	}
	return key
}
