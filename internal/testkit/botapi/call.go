package botapi

import (
	"maps"
	"slices"
	"time"
)

// A Call is one request of the bot.
type Call struct {
	Time   time.Time         // when it arrived, by the server's clock
	Method string            // as the API spells it; "file" is a download
	Params map[string]string // text as it is, nested values as JSON
	Chat   int64             // chat_id; 0 is none
	Thread int               // message_thread_id; 0 is none

	// Outcome is "" while the call is carried out, then "ok", the error
	// ("400 Bad Request: …"), or the fault that came over it.
	Outcome string
	// Code is the error_code of the answer, 200 for ok, and 0 as long as there
	// was no answer.
	Code int
	// Carried tells whether the method was carried out, whatever was answered.
	Carried bool
	// Message is the id of the message that was sent or edited; 0 is none.
	Message int
}

// Calls returns the calls of the methods, or of all, in the order of arrival.
func (s *Server) Calls(methods ...string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if len(methods) == 0 || slices.Contains(methods, c.Method) {
			copied := *c
			copied.Params = maps.Clone(c.Params)
			out = append(out, copied)
		}
	}
	return out
}

// CallCount returns how many calls of the methods, or in all, there have been.
// It is cheaper than [Server.Calls] where there are thousands.
func (s *Server) CallCount(methods ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if len(methods) == 0 || slices.Contains(methods, c.Method) {
			n++
		}
	}
	return n
}

// beginLocked records the arrival of a call.
func (s *Server) beginLocked(method string, p params) *Call {
	c := &Call{Time: s.opts.now(), Method: method, Params: p.values}
	s.calls = append(s.calls, c)
	s.changedLocked()
	return c
}

// endLocked records what became of it.
func (s *Server) endLocked(c *Call, outcome string, code int) {
	c.Outcome, c.Code = outcome, code
	s.changedLocked()
}
