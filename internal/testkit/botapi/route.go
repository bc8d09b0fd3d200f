package botapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// route takes a request to its method or file.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	path, download := strings.CutPrefix(r.URL.Path, "/file")
	token, rest, found := strings.Cut(strings.TrimPrefix(path, "/bot"), "/")
	if !found || !strings.HasPrefix(path, "/bot") {
		writeJSON(w, http.StatusNotFound, (&apiError{code: http.StatusNotFound, description: "Not Found"}).body())
		return
	}
	p, err := readParams(r)
	x := &exchange{s: s, w: w, r: r, params: p, token: token}
	switch {
	case err != nil:
		x.refuseBody(rest, err)
	case download:
		x.download(rest)
	default:
		x.method(rest)
	}
}

// An exchange is one HTTP request and the answer to it.
type exchange struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	params params
	token  string
	call   *Call
}

// refuseBody answers a body that could not be read.
func (x *exchange) refuseBody(method string, err error) {
	var refused *apiError
	if !errors.As(err, &refused) {
		refused = bad("can't read the request: %v", err)
	}
	x.s.mu.Lock()
	x.call = x.s.beginLocked(method, x.params)
	x.s.mu.Unlock()
	x.answer(nil, refused)
}

// method carries out a call and answers it, unless a fault says otherwise.
func (x *exchange) method(name string) {
	m, known := methodNamed(name)
	if known {
		name = m.name
	}
	req := &request{params: x.params, s: x.s, ctx: x.r.Context(), method: m}
	x.s.mu.Lock()
	x.call = x.s.beginLocked(name, x.params)
	req.call = x.call
	if known {
		x.call.Chat, x.call.Thread = chatIDOf(x.params.values), threadOf(x.params.values)
	}
	err := x.s.admitLocked(x.token)
	var f *fault
	if err == nil {
		f = x.s.takeFaultLocked(x.call)
	}
	x.s.mu.Unlock()
	if err == nil && !known {
		err = &apiError{code: http.StatusNotFound, description: "Not Found: method not found"}
	}
	if err != nil {
		x.answer(nil, err)
		return
	}
	if f != nil && f.before(x) {
		return
	}
	result, failed := x.s.carryOut(req)
	if f != nil && f.after(x, result, failed) {
		return
	}
	x.answer(result, failed)
}

// admitLocked checks the token.
func (s *Server) admitLocked(token string) *apiError {
	if token != s.opts.token || s.revoked {
		return unauthorized()
	}
	return nil
}

// carryOut runs the method, which returns an *apiError or panics with one.
func (s *Server) carryOut(r *request) (result any, failed *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.limitLocked(r); err != nil {
		return nil, err
	}
	defer func() {
		r.call.Carried = true
		switch refused := recover().(type) {
		case nil:
		case *apiError:
			result, failed = nil, refused
		default:
			panic(refused)
		}
	}()
	r.checkNames()
	result, err := r.method.run(r)
	if err != nil {
		panic(err)
	}
	s.changedLocked()
	return result, nil
}

// answer writes the result or the error and closes the record of the call.
func (x *exchange) answer(result any, failed *apiError) {
	code, outcome := http.StatusOK, "ok"
	body := object{"ok": true, "result": result}
	if failed != nil {
		code, outcome, body = failed.code, failed.Error(), failed.body()
	}
	data := encode(body)
	// The record comes first: a client that has the answer finds it complete.
	x.end(outcome, code)
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(code)
	_, _ = x.w.Write(data) // a client that is gone does not need it
}

func (x *exchange) end(outcome string, code int) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	x.s.endLocked(x.call, outcome, code)
}

func writeJSON(w http.ResponseWriter, code int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(encode(body))
}

// encode never fails: bodies are made of what JSON has.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("botapi: " + err.Error())
	}
	return data
}
