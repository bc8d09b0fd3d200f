package httpapi

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

// longestRetryAfter bounds what a client is told to wait before it asks again: the
// channel may go on sooner than it is said.
const longestRetryAfter = 5 * time.Minute

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
	if err := s.usable(r.Context(), sub.Channel); err != nil {
		return err
	}
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
	s.goneOn(&t)
	if isClosed(t.parked) {
		return s.parked(w, &t)
	}
	return s.later(w, &t.message, core.Place{})
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

// awaitMessage holds the request until the message has its outcome, or is found to
// wait on a parked channel. It only watches: when the client leaves, nothing
// happens to the message.
func (s *Server) awaitMessage(w *response, r *http.Request, sub core.Submission) error {
	t, err := s.core.SubmitAndWait(r.Context(), sub, s.drain.done)
	if err != nil {
		return err
	}
	tellReplay(w, t)
	s.goneOn(&t)
	select {
	case <-t.done: // already, but for a repeated message or when the server drains
	case <-t.parked:
		if !isClosed(t.done) {
			return s.parked(w, &t)
		}
	case <-r.Context().Done():
		return context.Cause(r.Context())
	case <-s.drain.done:
		if !isClosed(t.done) { // both: the outcome is the better answer
			if isClosed(s.succession.begun) {
				return &heldError{t.message}
			}
			now := s.current(r.Context(), t.message)
			w.Header().Set("Retry-After", "1")
			return s.later(w, &now, core.Place{})
		}
	}
	m := t.outcome()
	return s.showMessage(w, r, &m)
}

// goneOn forgets that a repeated message was found on a parked channel, if that has
// gone on since.
func (s *Server) goneOn(t *ticket) {
	if t.existing && isClosed(t.parked) && s.core.Place(t.message.ID).Until.IsZero() {
		t.parked = nil
	}
}

// parked answers that the message waits on a parked channel.
func (s *Server) parked(w *response, t *ticket) error {
	at := t.place()
	w.Header().Set("Retry-After", retryAfter(at.Until))
	return s.later(w, &t.message, at)
}

// retryAfter is the header's value in whole seconds: one, unless it takes until
// some later moment for the channel to go on.
func retryAfter(until time.Time) string {
	d := min(max(time.Until(until), time.Second), longestRetryAfter)
	return strconv.Itoa(int(math.Ceil(d.Seconds())))
}

// later answers that the message is accepted, where its outcome will be, and what
// it waits for, if that is known.
func (s *Server) later(w *response, m *core.Message, at core.Place) error {
	w.Header().Set("Location", location(m.ID))
	return s.build(w, http.StatusAccepted, func(b []byte) []byte {
		return append(appendAccepted(b, m, at), '\n')
	})
}

func appendAccepted(b []byte, m *core.Message, at core.Place) []byte {
	b = quote(append(b, `{"message_id":`...), m.ID)
	b = quote(append(b, `,"channel":`...), m.Channel)
	b = quote(append(b, `,"state":`...), m.State)
	p := m.Prompt.Short()
	b = appendPrompt(b, &p, m.Origin.User)
	b = member(b, `,"why":`, at.Why)
	b = moment(b, `,"until":`, at.Until)
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

func (s *Server) showMessage(w *response, r *http.Request, m *core.Message) error {
	return s.showAt(w, r, m, s.place(m), appendMessage)
}

// showAt answers with a message that waits there, as encode appends it.
func (s *Server) showAt(w *response, r *http.Request, m *core.Message, at core.Place,
	encode func([]byte, *core.Message, core.Place) []byte) error {
	s.carry(r.Context(), m)
	err := s.build(w, http.StatusOK, func(b []byte) []byte {
		return append(encode(b, m, at), '\n')
	})
	if err == nil && r.Method != http.MethodHead {
		s.deliveries.note(m)
	}
	return err
}

func (s *Server) place(m *core.Message) core.Place {
	if m.State != core.Waiting {
		return core.Place{}
	}
	return s.core.Place(m.ID)
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
