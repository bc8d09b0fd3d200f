package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"bareclaw/core"
)

// maxWait bounds how long GET /messages/{id} holds a request.
const maxWait = 5 * time.Minute

// untilParked is the value of the parameter until for clients that do not wait for
// the end of a park.
const untilParked = "parked"

func pathMessage(r *http.Request) core.MessageID { return core.MessageID(chi.URLParam(r, "id")) }

// getMessage shows a message, with ?wait=30s once it has its outcome or when
// that time is over; with &until=parked also once it waits on a parked channel.
func (s *Server) getMessage(w *response, r *http.Request) error {
	wait, err := waitParam(r)
	if err != nil {
		return err
	}
	await, err := s.untilParam(r)
	if err != nil {
		return err
	}
	id := pathMessage(r)
	if wait == 0 {
		m, err := s.core.Message(r.Context(), id)
		if err != nil {
			return err
		}
		return s.showAt(w, r, &m, s.place(&m), appendWhole)
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	defer s.untilDrained(cancel)()
	m, err := await(ctx, id)
	if ctx.Err() != nil && r.Context().Err() == nil && isClosed(s.succession.begun) {
		s.pass(w, r)
		return nil
	}
	if err != nil && (ctx.Err() == nil || r.Context().Err() != nil || m.ID == "") {
		return err
	}
	at := s.place(&m)
	if !m.State.Final() {
		w.Header().Set("Retry-After", retryAfter(at.Until))
	}
	return s.showAt(w, r, &m, at, appendWhole)
}

// untilDrained calls cancel when the server drains. What it returns ends that.
func (s *Server) untilDrained(cancel func()) (stop func()) {
	over := make(chan struct{})
	go func() { // ends with the request, at the latest
		select {
		case <-s.drain.done:
			cancel()
		case <-over:
		}
	}()
	return func() { close(over) }
}

func waitParam(r *http.Request) (time.Duration, error) {
	q := r.URL.Query()
	if !q.Has("wait") {
		return 0, nil
	}
	text := q.Get("wait")
	if len(text) > 10 && strings.Trim(text, "0123456789") == "" { // more seconds than a duration holds
		return maxWait, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d < 0 {
		return 0, badRequest("bad_wait", "The parameter wait must be a number of seconds or a duration such as 30s or 2m; longer than %s counts as that.", maxWait)
	}
	return min(d, maxWait), nil
}

// untilParam returns what waits for the moment that the request names.
func (s *Server) untilParam(r *http.Request) (func(context.Context, core.MessageID) (core.Message, error), error) {
	switch r.URL.Query().Get("until") {
	case "", "outcome":
		return s.core.Wait, nil
	case untilParked:
		return s.core.WaitOrPark, nil
	}
	return nil, badRequest("bad_wait", `The parameter until must be "outcome" or "parked".`)
}

func (s *Server) cancelMessage(w *response, r *http.Request) error {
	m, err := s.core.Cancel(r.Context(), pathMessage(r))
	if w.repeated && errors.Is(err, core.ErrNotWaiting) && m.Reply.Code == core.CodeCancelled {
		err = nil // it was this request that cancelled it
	}
	if errors.Is(err, core.ErrNotWaiting) {
		return refuse(http.StatusConflict, "not_waiting",
			"Only a message that waits can be cancelled; a running turn is ended by POST /channels/{key}/interrupt.").
			member("message", appendMessage(nil, &m, core.Place{}))
	}
	if err != nil {
		return err
	}
	return s.showMessage(w, r, &m)
}
