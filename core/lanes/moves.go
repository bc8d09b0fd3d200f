package lanes

import (
	"slices"
	"sync"
	"time"

	"bareclaw/core"
)

// moves knows which channels go on under another key.
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

// superseded reports whether the session was moved again later: then this move is
// complete. The session may be back where it was, and done once more the move would
// put it in place of what its target has by now.
func superseded(mv core.Move, later []core.Move) bool {
	return slices.ContainsFunc(later, func(other core.Move) bool { return other.Session == mv.Session })
}

// follow returns the channel on which something goes on that was on the channel key at
// that time.
func (ms *moves) follow(key core.ChannelKey, at time.Time) core.ChannelKey {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for range len(ms.of) { // they may lead in a circle
		mv, ok := ms.of[key]
		if !ok || mv.At.Before(at) {
			break
		}
		key, at = mv.To, mv.At
	}
	return key
}
