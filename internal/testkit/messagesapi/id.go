package messagesapi

import (
	"crypto/rand"
	"fmt"
	"sync/atomic"
)

// An idSource makes ids that no other stand-in makes. A conversation may be
// resumed against a second stand-in, and the API wants tool ids to be unique.
type idSource struct {
	salt string
	last atomic.Int64
}

func newIDSource() *idSource { return &idSource{salt: rand.Text()[:8]} }

func (s *idSource) next(prefix string) string {
	return fmt.Sprintf("%s_%s%06d", prefix, s.salt, s.last.Add(1))
}
