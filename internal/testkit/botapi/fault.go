package botapi

import (
	"net/http"
	"time"
)

// A Step is what happens to one call. See [Server.Script].
type Step struct {
	outcome string
	before  func(x *exchange, step Step) bool // instead of carrying it out; nil goes on
	answer  func(x *exchange, step Step, response []byte) bool
	retry   int // seconds of a 429
}

// fault is a script of what happens to the calls of a method in a chat.
type fault struct {
	method string // "" is any
	chat   int64  // 0 is any
	steps  []Step
	step   Step // of the fault given out
}

// Script has the next calls of the method meet the steps, one each, in order;
// after them everything is as before. An empty method is any, "file" is a
// download; chat 0 is any. Where several scripts fit, the oldest that has steps
// left counts.
func (s *Server) Script(method string, chat int64, steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{method: method, chat: chat, steps: steps})
}

// Scripted returns how many steps have met no call yet.
func (s *Server) Scripted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := 0
	for _, f := range s.faults {
		left += len(f.steps)
	}
	return left
}

// takeFaultLocked finds the step for a call; nil is none.
func (s *Server) takeFaultLocked(c *Call) *fault {
	for _, f := range s.faults {
		if len(f.steps) == 0 || f.method != "" && f.method != c.Method || f.chat != 0 && f.chat != c.Chat {
			continue
		}
		step := f.steps[0]
		f.steps = f.steps[1:]
		if step.retry > 0 {
			m, _ := methodNamed(c.Method)
			s.rate.penalties[penaltyFor(m, c.Chat)] = s.opts.now().Add(time.Duration(step.retry) * time.Second)
		}
		return &fault{step: step}
	}
	return nil
}

// before reports whether the call ends here, without being carried out.
func (f *fault) before(x *exchange) bool {
	return f.step.before != nil && f.step.before(x, f.step)
}

// after reports whether the answer to what was carried out has been dealt with.
func (f *fault) after(x *exchange, result any, failed *apiError) bool {
	body := object{"ok": true, "result": result}
	if failed != nil {
		body = failed.body()
	}
	return f.afterRaw(x, encode(body))
}

func (f *fault) afterRaw(x *exchange, response []byte) bool {
	return f.step.answer != nil && f.step.answer(x, f.step, response)
}

// TooMany answers 429. Until the time is over, further calls of that kind in
// that chat are refused as well and counted as [Server.RateViolations].
func TooMany(retryAfter int) Step { return refuse(tooMany(retryAfter), retryAfter) }

// InternalError answers 500 with JSON.
func InternalError() Step {
	return refuse(&apiError{code: http.StatusInternalServerError, description: "Internal Server Error"}, 0)
}

// Conflict answers 409, as if another bot polled with the same token.
func Conflict() Step { return refuse(conflict(conflictText), 0) }

// Refuse answers with any error; the description is the whole one.
func Refuse(code int, description string) Step {
	return refuse(&apiError{code: code, description: description}, 0)
}

func refuse(err *apiError, retry int) Step {
	return Step{outcome: err.Error(), retry: retry, before: func(x *exchange, _ Step) bool {
		x.answer(nil, err)
		return true
	}}
}

// BadGateway answers 502 with HTML, as a proxy does.
func BadGateway() Step {
	return Step{outcome: "fault: 502 with HTML", before: func(x *exchange, step Step) bool {
		x.end(step.outcome, http.StatusBadGateway)
		x.w.Header().Set("Content-Type", "text/html")
		x.w.WriteHeader(http.StatusBadGateway)
		_, _ = x.w.Write([]byte("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"))
		return true
	}}
}

// RevokeToken answers every call 401 from now on, a poll that waits too.
func (s *Server) RevokeToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	s.updates.endPoll(unauthorized())
	s.changedLocked()
}

// RestoreToken takes it back.
func (s *Server) RestoreToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = false
}
