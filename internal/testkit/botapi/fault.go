package botapi

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Step is what happens to one call. See [Server.Script].
type Step struct {
	before func(*request) bool         // before the call is carried out; true: it is not
	answer func(*request, []byte) bool // before the answer is written; true: it is not
	retry  int                         // seconds of a 429
}

// fault is a script of what happens to the calls of a method in a chat.
type fault struct {
	method string // "" is any
	chat   int64  // 0 is any
	steps  []Step
}

// Script has the next calls of the method meet the steps, one each, in order; after them
// everything is as before. An empty method is any, "file" is a download; chat 0 is any.
// Where several scripts fit, the oldest that has steps left counts.
func (s *Server) Script(method string, chat int64, steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{method: method, chat: chat, steps: steps})
}

// Scripted returns how many steps have met no call yet.
func (s *Server) Scripted() int {
	return locked(s, func() (left int) {
		for _, f := range s.faults {
			left += len(f.steps)
		}
		return left
	})
}

// takeFaultLocked finds the step for a call, or the zero Step.
func (s *Server) takeFaultLocked(c *Call) Step {
	for _, f := range s.faults {
		if len(f.steps) == 0 || f.method != "" && f.method != c.Method || f.chat != 0 && f.chat != c.Chat {
			continue
		}
		step := f.steps[0]
		f.steps = f.steps[1:]
		if step.retry > 0 {
			m, _ := methodNamed(c.Method)
			s.rate.penalties[penaltyFor(m, c.Chat)] = now().Add(time.Duration(step.retry) * time.Second)
		}
		return step
	}
	return Step{}
}

// TooMany answers 429. Until the time is over, further calls of that kind in that chat are
// refused as well and counted as [Server.RateViolations].
func TooMany(retryAfter int) Step {
	step := refuse(tooMany(retryAfter))
	step.retry = retryAfter
	return step
}

// InternalError answers 500 with JSON.
func InternalError() Step { return Refuse(http.StatusInternalServerError, "Internal Server Error") }

// Conflict answers 409, as if another bot polled with the same token.
func Conflict() Step { return refuse(otherPoll) }

// Refuse answers with any error; the description is the whole one.
func Refuse(code int, description string) Step {
	return refuse(&apiError{code: code, description: description})
}

func refuse(err *apiError) Step {
	return Step{before: func(r *request) bool {
		r.answer(nil, err, Step{})
		return true
	}}
}

// BadGateway answers 502 with HTML, as a proxy does.
func BadGateway() Step {
	return Step{before: func(r *request) bool {
		r.end("fault: 502 with HTML")
		r.w.Header().Set("Content-Type", "text/html")
		r.w.WriteHeader(http.StatusBadGateway)
		_, _ = r.w.Write([]byte("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n"))
		return true
	}}
}

// ResetBefore resets the connection when the call has been read; it is not carried out.
func ResetBefore() Step {
	return Step{before: func(r *request) bool { return r.reset("before", nil) }}
}

// ResetAfter carries the call out and resets the connection without an answer: the client
// cannot know.
func ResetAfter() Step {
	return Step{answer: func(r *request, _ []byte) bool { return r.reset("after", nil) }}
}

// ResetMidBody carries the call out and resets the connection in the middle of the answer.
func ResetMidBody() Step {
	return Step{answer: func(r *request, response []byte) bool {
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(response))
		return r.reset("in the body", append([]byte(head), response[:len(response)/2]...))
	}}
}

// reset writes what there is to say and drops the connection.
func (r *request) reset(when string, last []byte) bool {
	r.end("fault: reset " + when)
	hijacker, ok := r.w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = conn.Write(last) // the client may be gone
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset instead of an end
	}
	_ = conn.Close()
	return true
}

// Delay keeps one call waiting for d before it is carried out.
func Delay(d time.Duration) Step {
	return Step{before: func(r *request) bool { return r.left(time.After(d)) }}
}

// left waits, and reports whether the client left meanwhile.
func (r *request) left(wait <-chan time.Time) bool {
	select {
	case <-wait:
		return false
	case <-r.http.Context().Done():
		r.end("fault: the client left while it waited")
		return true
	}
}

// A Held is a call that waits. See [Server.Hold].
type Held struct {
	s       *Server
	once    sync.Once
	free    chan time.Time
	reached bool // protected by the server's lock
}

// Hold keeps the next call of the method in the chat waiting before it is carried out,
// until Release or until the client goes. An empty method is any, chat 0 is any; for
// getUpdates it is a poll that stalls.
func (s *Server) Hold(method string, chat int64) *Held { return s.HoldLater(0, method, chat) }

// HoldLater is Hold for a later call: earlier calls are carried out before.
func (s *Server) HoldLater(earlier int, method string, chat int64) *Held {
	h := &Held{s: s, free: make(chan time.Time)}
	s.Script(method, chat, append(make([]Step, earlier), Step{before: h.wait})...)
	return h
}

// HoldAnswer has the next call carried out and keeps the answer back.
func (s *Server) HoldAnswer(method string, chat int64) *Held {
	h := &Held{s: s, free: make(chan time.Time)}
	s.Script(method, chat, Step{answer: func(r *request, _ []byte) bool { return h.wait(r) }})
	return h
}

// wait reports whether the client left.
func (h *Held) wait(r *request) bool {
	h.s.mu.Lock()
	h.reached = true
	h.s.changedLocked()
	h.s.mu.Unlock()
	return r.left(h.free)
}

// Reached reports whether a call has come to be held.
func (h *Held) Reached() bool { return locked(h.s, func() bool { return h.reached }) }

// Release lets the call go on. It may be called before it came, and again.
func (h *Held) Release() { h.once.Do(func() { close(h.free) }) }

// RevokeToken answers every call 401 from now on, a poll that waits too.
func (s *Server) RevokeToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	s.updates.endPoll(unauthorized)
	s.changedLocked()
}

// RestoreToken takes it back.
func (s *Server) RestoreToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = false
}
