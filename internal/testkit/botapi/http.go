package botapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// A request is one HTTP request while it is carried out. The methods of the API, but for
// getUpdates, run with the server's lock held.
type request struct {
	params
	s    *Server
	w    http.ResponseWriter
	http *http.Request
	call *Call
}

// handle answers a request to a method or for a file.
func (s *Server) handle(w http.ResponseWriter, hr *http.Request) {
	s.running.Add(1)
	defer s.running.Done()
	p, err := readParams(hr)
	r := &request{params: p, s: s, w: w, http: hr}
	path, download := strings.CutPrefix(hr.URL.Path, "/file")
	token, name, found := strings.Cut(strings.TrimPrefix(path, "/bot"), "/")
	m, known := methodNamed(name)
	switch {
	case !found || !strings.HasPrefix(path, "/bot"):
		err = &apiError{code: http.StatusNotFound, description: "Not Found"}
	case download:
		m, known = method{name: "file", run: (*request).download}, true
		r.values["file_path"] = name
	}
	if !known {
		m.name = name
	}
	s.mu.Lock()
	r.begin(m.name)
	if err == nil && (token != s.token || s.revoked) {
		err = unauthorized
	}
	if err == nil && !known {
		err = &apiError{code: http.StatusNotFound, description: "Not Found: method not found"}
	}
	var f Step
	if err == nil {
		f = s.takeFaultLocked(r.call)
	}
	s.mu.Unlock()
	if err == nil && f.before != nil && f.before(r) {
		return
	}
	var result any
	if err == nil {
		result, err = r.carryOut(m)
	}
	r.answer(result, err, f)
}

// begin records the arrival of a call.
func (r *request) begin(method string) {
	r.call = &Call{Time: now(), Method: method, Params: r.values}
	r.call.Chat, _ = strconv.ParseInt(r.values["chat_id"], 10, 64)
	r.s.calls = append(r.s.calls, r.call)
	r.s.changedLocked()
}

// carryOut runs the method, which returns an *apiError or panics with one.
func (r *request) carryOut(m method) (result any, err error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if err := r.s.limitLocked(m, r.call.Chat); err != nil {
		return nil, err
	}
	defer func() {
		r.s.changedLocked()
		switch refused := recover().(type) {
		case nil:
		case *apiError:
			result, err = nil, refused
		default:
			panic(refused)
		}
	}()
	return m.run(r)
}

// answer writes a file, another result or the error, and closes the record of the call,
// unless the fault takes the answer's place.
func (r *request) answer(result any, err error, f Step) {
	code, outcome := http.StatusOK, "ok"
	data, isFile := result.([]byte)
	if !isFile {
		data = encode(object{"ok": true, "result": result})
	}
	if err != nil {
		refused := (*apiError)(nil)
		if !errors.As(err, &refused) {
			refused = bad("can't read the request: %v", err)
		}
		code, outcome, data = refused.code, refused.Error(), encode(refused.body())
	}
	if f.answer != nil && f.answer(r, data) {
		return
	}
	r.end(outcome) // first: a client that has the answer finds the record complete
	if !isFile {
		r.w.Header().Set("Content-Type", "application/json")
	}
	r.w.WriteHeader(code)
	_, _ = r.w.Write(data) // a client that is gone does not need it
}

// end records what became of the call.
func (r *request) end(outcome string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.call.Outcome = outcome
	r.s.changedLocked()
}

// encode never fails: bodies are made of what JSON has.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("botapi: " + err.Error())
	}
	return data
}
