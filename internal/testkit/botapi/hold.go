package botapi

import (
	"sync"
	"time"
)

// A Held is a call that waits. See [Server.Hold].
type Held struct {
	s       *Server
	once    sync.Once
	free    chan struct{}
	reached bool // protected by the server's lock
}

// Hold keeps the next call of the method in the chat waiting before it is
// carried out, until Release or until the client goes. An empty method is any,
// chat 0 is any; for getUpdates it is a poll that stalls.
func (s *Server) Hold(method string, chat int64) *Held {
	h := &Held{s: s, free: make(chan struct{})}
	s.Script(method, chat, Step{outcome: "fault: the client left while it was held", before: h.wait})
	return h
}

// HoldAnswer has the next call carried out and keeps the answer back.
func (s *Server) HoldAnswer(method string, chat int64) *Held {
	h := &Held{s: s, free: make(chan struct{})}
	s.Script(method, chat, Step{outcome: "fault: the client left without the answer", answer: func(x *exchange, step Step, _ []byte) bool {
		return h.wait(x, step)
	}})
	return h
}

// Delay keeps one call waiting for d before it is carried out.
func Delay(d time.Duration) Step {
	return Step{outcome: "fault: the client left while it was delayed", before: func(x *exchange, step Step) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return false
		case <-x.r.Context().Done():
			x.end(step.outcome, 0)
			return true
		}
	}}
}

// wait reports whether the client left.
func (h *Held) wait(x *exchange, step Step) bool {
	h.s.mu.Lock()
	h.reached = true
	h.s.changedLocked()
	h.s.mu.Unlock()
	select {
	case <-h.free:
		return false
	case <-x.r.Context().Done():
		x.end(step.outcome, 0)
		return true
	}
}

// Reached reports whether a call has come to be held.
func (h *Held) Reached() bool {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.reached
}

// Release lets the call go on. It may be called before it came, and again.
func (h *Held) Release() { h.once.Do(func() { close(h.free) }) }
