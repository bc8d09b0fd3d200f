package core

import (
	"sync"
	"time"
)

// moves knows which channels go on under another key.
type moves struct {
	mu sync.Mutex
	of map[ChannelKey]Move
}

func (ms *moves) note(mv Move) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.of == nil {
		ms.of = map[ChannelKey]Move{}
	}
	ms.of[mv.From] = mv
}

// follow returns the channel on which something goes on that was on the channel key at
// that time.
func (ms *moves) follow(key ChannelKey, at time.Time) ChannelKey {
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
