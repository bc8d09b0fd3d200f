package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

// postMessage accepts a message and answers in the form that was asked for:
// at once (Prefer: respond-async), as a stream (Accept: text/event-stream), or
// when there is an outcome.
func (s *Server) postMessage(w *response, r *http.Request) error {
	if s.Draining() && !isClosed(s.succession.begun) {
		return shuttingDown()
	}
	var sub core.Submission
	err := s.withBody(w, r, func(dec *jsontext.Decoder) (err error) {
		sub, err = decodeMessage(dec)
		return err
	})
	if err != nil {
		return err
	}
	if err := bindKey(&sub, r); err != nil {
		return err
	}
	w.again = func() []byte { return appendSubmission(nil, &sub) }
	return s.take(w, r, sub)
}

// take hands a submission in and answers in the form that was asked for.
func (s *Server) take(w *response, r *http.Request, sub core.Submission) error {
	switch {
	case prefersAsync(r):
		return s.acceptMessage(w, r, sub)
	case acceptsEvents(r):
		return s.streamMessage(w, r, sub)
	default:
		return s.awaitMessage(w, r, sub)
	}
}

// acceptMessage is POST /message for a client that comes back for the outcome.
func (s *Server) acceptMessage(w *response, r *http.Request, sub core.Submission) error {
	t, err := s.submit(w, r, sub)
	if err != nil {
		return err
	}
	w.Header().Set("Preference-Applied", "respond-async")
	return s.later(w, &t.message)
}

func (s *Server) submit(w *response, r *http.Request, sub core.Submission) (ticket, error) {
	t, err := s.core.Submit(r.Context(), sub)
	tellReplay(w, t)
	return t, err
}

func tellReplay(w *response, t ticket) {
	if t.existing {
		w.Header().Set("Idempotency-Replayed", "true")
	}
}

// awaitMessage holds the request until the message has its outcome. It only
// watches: when the client leaves, nothing happens to the message.
func (s *Server) awaitMessage(w *response, r *http.Request, sub core.Submission) error {
	t, err := s.core.SubmitAndWait(r.Context(), sub, s.drain.done)
	if err != nil {
		return err
	}
	tellReplay(w, t)
	select {
	case <-t.done: // already, but for a repeated message or when the server drains
	case <-r.Context().Done():
		return context.Cause(r.Context())
	case <-s.drain.done:
		if !isClosed(t.done) { // both: the outcome is the better answer
			if isClosed(s.succession.begun) {
				return &heldError{t.message}
			}
			now := s.current(r.Context(), t.message)
			w.Header().Set("Retry-After", "1")
			return s.later(w, &now)
		}
	}
	m := t.outcome()
	return s.showMessage(w, &m)
}

// later answers that the message is accepted, and where its outcome will be.
func (s *Server) later(w *response, m *core.Message) error {
	w.Header().Set("Location", location(m.ID))
	return s.build(w, http.StatusAccepted, func(b []byte) []byte {
		return append(appendAccepted(b, m), '\n')
	})
}

func appendAccepted(b []byte, m *core.Message) []byte {
	b = quote(append(b, `{"message_id":`...), m.ID)
	b = quote(append(b, `,"channel":`...), m.Channel)
	b = quote(append(b, `,"state":`...), m.State)
	return append(b, '}')
}

func location(id core.MessageID) string { return "/messages/" + string(id) }

// current returns the message as it is now, or as it was if that cannot be read.
func (s *Server) current(ctx context.Context, m core.Message) core.Message {
	if now, err := s.core.Message(ctx, m.ID); err == nil {
		return now
	}
	return m
}

func (s *Server) showMessage(w *response, m *core.Message) error {
	at := s.place(m)
	err := s.build(w, http.StatusOK, func(b []byte) []byte {
		return append(appendMessage(b, m, at), '\n')
	})
	if err == nil {
		s.deliveries.note(m)
	}
	return err
}

// A place is where a message is in its channel's queue: 1 is the next, 0 that it
// does not wait. Why says what keeps the whole queue waiting, if anything does
// besides a running turn.
type place struct {
	position int
	why      string
}

func (s *Server) place(m *core.Message) place {
	if m.State != core.Waiting {
		return place{}
	}
	position, why := s.core.Place(m.ID)
	return place{position, why}
}

// prefersAsync looks for the preference of RFC 7240, section 4.1.
func prefersAsync(r *http.Request) bool {
	return listed(r.Header["Prefer"], "respond-async")
}

func acceptsEvents(r *http.Request) bool {
	return listed(r.Header["Accept"], "text/event-stream")
}

// listed reports whether a comma-separated header names an item, whatever its
// parameters.
func listed(values []string, item string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), item) {
				return true
			}
		}
	}
	return false
}
