package messagesapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxRequestBytes is the API's limit for one request, over which it answers 413:
// platform.claude.com/docs/en/api/errors.
const maxRequestBytes = 32 << 20

func (s *Standin) serveMessages(w http.ResponseWriter, r *http.Request) {
	req, size, rejected := read(r)
	if rejected == nil {
		rejected = req.validate()
	}
	t := findTurn(req)
	seen := describe(req, t)
	seen.Header, seen.Bytes = r.Header.Clone(), size
	if rejected != nil {
		seen.Rejected = rejected.message
	}
	n := s.record.add(seen)
	s.opts.Log.Debug("api stand-in: request", "n", n, "bytes", size, "model", req.Model, "messages", len(req.Messages),
		"directive", t.String(), "rounds", t.rounds)
	if rejected != nil {
		s.fail(w, rejected)
		return
	}
	rep, failed := s.script(req, t)
	if failed != nil {
		s.fail(w, failed)
		return
	}
	if rep.in == 0 {
		rep.in, rep.out = size/4, rep.length()/4+1
	}
	if err := s.answer(w, r, req, rep); err != nil {
		s.opts.Log.Debug("api stand-in: reply dropped", "n", n, "reason", err)
		panic(http.ErrAbortHandler) // how net/http drops a connection on purpose
	}
}

// answer sends the reply in the form the client asked for. An error means that
// the connection is to be dropped.
func (s *Standin) answer(w http.ResponseWriter, r *http.Request, req *request, rep reply) error {
	if rep.wait != nil {
		if err := rep.wait(r.Context()); err != nil {
			return err
		}
	}
	rep.id, rep.model = s.ids.next("msg"), req.Model
	w.Header().Set("request-id", s.ids.next("req"))
	if req.Stream {
		return newStream(w, s.opts.PingInterval).play(r.Context(), rep)
	}
	whole, err := rep.whole(r.Context())
	var failed *apiError
	if errors.As(err, &failed) {
		s.fail(w, failed)
		return nil
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, whole)
	return nil
}

func (s *Standin) serveCountTokens(w http.ResponseWriter, r *http.Request) {
	req, size, rejected := read(r)
	if rejected == nil {
		rejected = req.validateConversation()
	}
	if rejected != nil {
		s.fail(w, rejected)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"input_tokens": size / 4})
}

func (s *Standin) serveModels(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"data": []any{}, "has_more": false, "first_id": nil, "last_id": nil})
}

func (s *Standin) serveUnknown(w http.ResponseWriter, r *http.Request) {
	s.fail(w, &apiError{status: http.StatusNotFound, message: fmt.Sprintf("Not found: %s %s", r.Method, r.URL.Path)})
}

// read checks the headers and decodes the body. The request is never nil; it is
// empty as far as it could not be read.
func read(r *http.Request) (req *request, size int, rejected *apiError) {
	req = &request{}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestBytes+1))
	switch {
	case err != nil:
		return req, len(body), badRequest("reading the body: %v", err)
	case len(body) > maxRequestBytes:
		_, _ = io.Copy(io.Discard, r.Body) // so that the client is there to read the answer
		return req, len(body), &apiError{status: http.StatusRequestEntityTooLarge, message: "Request exceeds the maximum size"}
	case r.Header.Get("X-Api-Key") == "" && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		return req, len(body), &apiError{status: http.StatusUnauthorized, message: "x-api-key header is required"}
	case r.Header.Get("Anthropic-Version") == "":
		return req, len(body), badRequest("anthropic-version: header is required")
	}
	if err := json.Unmarshal(body, req); err != nil {
		return &request{}, len(body), badRequest("The request body is not valid: %v", err)
	}
	return req, len(body), nil
}

// describe is what the record keeps of a request.
func describe(r *request, t turn) Seen {
	return Seen{
		Model:       r.Model,
		Stream:      r.Stream,
		Directive:   t.String(),
		Text:        t.text,
		UserTexts:   r.userTexts(),
		ToolResults: r.toolResults(),
		Images:      r.images(),
		Tools:       r.toolNames(),
		System:      r.System.text("\n"),
	}
}
