package messagesapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

func (s *Standin) serveMessages(w http.ResponseWriter, r *http.Request) {
	req, size, rejected := read(r)
	if rejected == nil {
		rejected = req.validate()
	}
	t := findTurn(req)
	s.record(Seen{
		Header: r.Header.Clone(), Bytes: size, Rejected: rejected.reason(), Model: req.Model, Directive: t.String(), Text: t.text,
		UserTexts: req.userTexts(), ToolResults: req.toolResults(), Tools: req.toolNames(), System: req.System.text("\n"),
	})
	if rejected != nil {
		s.fail(w, rejected)
		return
	}
	rep, failed := s.script(req, t)
	if failed == nil && !req.Stream { // the CLI asks so after some errors, only to be told the error again
		failed = badRequest("API stand-in: only streams are scripted")
	}
	if failed != nil {
		s.fail(w, failed)
		return
	}
	if rep.in == 0 {
		rep.in, rep.out = size/4, rep.length()/4+1
	}
	rep.id, rep.model = s.nextID("msg"), req.Model
	w.Header().Set("request-id", s.nextID("req"))
	if newStream(w).play(r.Context(), rep) != nil {
		panic(http.ErrAbortHandler) // how net/http drops a connection on purpose
	}
}

func (s *Standin) record(seen Seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen.N = len(s.seen) + 1
	s.seen = append(s.seen, seen)
}

func (s *Standin) serveCountTokens(w http.ResponseWriter, r *http.Request) {
	_, size, rejected := read(r)
	if rejected != nil {
		s.fail(w, rejected)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"input_tokens": size / 4})
}

func (s *Standin) serveUnknown(w http.ResponseWriter, r *http.Request) {
	s.fail(w, &apiError{status: http.StatusNotFound, message: fmt.Sprintf("Not found: %s %s", r.Method, r.URL.Path)})
}

// read checks the headers and decodes the body. The request is never nil; it is
// empty as far as it could not be read.
func read(r *http.Request) (req *request, size int, rejected *apiError) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		rejected = badRequest("reading the body: %v", err)
	case r.Header.Get("X-Api-Key") == "" && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		rejected = &apiError{status: http.StatusUnauthorized, message: "x-api-key header is required"}
	case r.Header.Get("Anthropic-Version") == "":
		rejected = badRequest("anthropic-version: header is required")
	}
	req = &request{}
	if rejected == nil {
		if err := json.Unmarshal(body, req); err != nil {
			return &request{}, len(body), badRequest("The request body is not valid: %v", err)
		}
	}
	return req, len(body), rejected
}
