package otlp

import (
	"sync"

	"bareclaw/observe/capture"
)

// maxNested is how many steps a nesting remembers.
const maxNested = 8192

// A nesting tells a step that did something itself from one that had a step below it do the same. A
// query builder and the driver that it uses, or two HTTP clients, tell of one query or call twice.
// Steps below end first, and exporters keep that order.
type nesting struct {
	mu     sync.Mutex
	above  map[step]struct{}
	oldest []step // a ring
	next   int
}

// A step is a span, in its trace.
type step struct {
	trace capture.TraceID
	span  capture.SpanID
}

func newNesting() *nesting {
	return &nesting{above: map[step]struct{}{}}
}

// innermost reports whether none of the steps before had this one as its parent, and remembers the
// step's own parent.
func (n *nesting) innermost(trace capture.TraceID, id, parent capture.SpanID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, wraps := n.above[step{trace, id}]
	if parent != (capture.SpanID{}) {
		n.remember(step{trace, parent})
	}
	return !wraps
}

// remember keeps a step, in the place of the oldest one. The lock is held.
func (n *nesting) remember(s step) {
	_, known := n.above[s]
	if known {
		return
	}
	n.above[s] = struct{}{}
	if len(n.oldest) < maxNested {
		n.oldest = append(n.oldest, s)
		return
	}
	delete(n.above, n.oldest[n.next])
	n.oldest[n.next] = s
	n.next = (n.next + 1) % maxNested
}
