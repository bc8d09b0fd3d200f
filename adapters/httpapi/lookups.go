package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

const (
	// maxContentReads bounds how many contents read by clients are in memory at once:
	// each content may be as large as a body.
	maxContentReads = 2
	// smallContent is the size in bytes up to which a content, once read, does not count for
	// maxContentReads.
	smallContent = 1 << 20
)

type lookups struct{ *shared }

// onMessage returns a handler that is called with the id of the message in the request's path,
// which may be shortened. An id that is not known goes on to the handler as it is.
func (s *shared) onMessage(h func(w *response, r *http.Request, id core.MessageID) (any, error)) handlerFunc {
	return func(w *response, r *http.Request) (any, error) {
		text := pathParam(r, "id")
		id, err := s.Core.Messages.Find(r.Context(), text)
		if isUnknown(err) {
			id, err = core.MessageID(text), nil
		}
		if err != nil {
			return nil, err
		}
		return h(w, r, id)
	}
}

// get shows a message. With ?wait=30s, get first waits for the outcome, for at most 30 s; with
// &until=parked the wait also ends when the message waits on a parked channel.
func (l *lookups) get(w *response, r *http.Request, id core.MessageID) (any, error) {
	wait, err := waitParam(r)
	if err != nil {
		return nil, err
	}
	await, err := l.untilParam(r)
	if err != nil {
		return nil, err
	}
	if wait == 0 {
		m, err := l.Core.Messages.Message(r.Context(), id)
		if err != nil {
			return nil, err
		}
		return l.showOutcome(r.Context(), &m, l.place(&m), longPrompt), nil
	}
	held := w.repeated && r.Header.Get(repeatedHeader) == heldMessage
	if held {
		wait = math.MaxInt64
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	defer context.AfterFunc(l.lifecycle, cancel)()
	m, err := await(ctx, id)
	if ctx.Err() != nil && r.Context().Err() == nil && l.lifecycle.handingOver() {
		return nil, errHandedOver
	}
	if err != nil && (ctx.Err() == nil || r.Context().Err() != nil || m.ID == "") {
		return nil, err
	}
	at := l.place(&m)
	if held && !m.State.Final() {
		return nil, answerParked(w, &m, at)
	}
	if !m.State.Final() {
		w.Header().Set("Retry-After", retryAfter(at.Until))
	}
	return l.showOutcome(r.Context(), &m, at, longPrompt), nil
}

func waitParam(r *http.Request) (time.Duration, error) {
	q := r.URL.Query()
	if !q.Has("wait") {
		return 0, nil
	}
	text := q.Get("wait")
	if len(text) > 10 && strings.Trim(text, "0123456789") == "" { // more seconds than a duration holds
		return api.MaxWait, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d < 0 {
		return 0, badRequest(api.BadWait, "The parameter wait must be a number of seconds or a duration such as 30s or 2m; longer than %s counts as that.", api.MaxWait)
	}
	return min(d, api.MaxWait), nil
}

func (l *lookups) untilParam(r *http.Request) (func(context.Context, core.MessageID) (core.Message, error), error) {
	switch r.URL.Query().Get("until") {
	case "", "outcome":
		return l.Core.Messages.Wait, nil
	case api.UntilParked:
		return l.Core.Messages.WaitOrPark, nil
	}
	return nil, badRequest(api.BadWait, `The parameter until must be "outcome" or "parked".`)
}

func (l *lookups) cancel(w *response, r *http.Request, id core.MessageID) (any, error) {
	if err := l.checkReachOfMessage(r.Context(), w, id); err != nil {
		return nil, err
	}
	m, err := l.Core.Lanes.Cancel(r.Context(), id)
	if w.repeated && errors.Is(err, core.ErrNotWaiting) && m.Reply.Code == core.CodeCancelled {
		err = nil // the repeated request itself cancelled the message
	}
	if errors.Is(err, core.ErrNotWaiting) {
		p := refuse(http.StatusConflict, api.NotWaiting, "Only a message that waits can be cancelled; a running turn is ended by POST /channels/{key}/interrupt.")
		p.body.Message = showMessage(&m, core.QueuePosition{}, shortPrompt)
		return nil, p
	}
	if err != nil {
		return nil, err
	}
	return l.showOutcome(r.Context(), &m, core.QueuePosition{}, shortPrompt), nil
}

func (l *lookups) trace(_ *response, r *http.Request, id core.MessageID) (any, error) {
	t, err := l.Core.Messages.Trace(r.Context(), id)
	return showTrace(&t), err
}

// content shows a message's content as submitted, media included.
func (l *lookups) content(w *response, r *http.Request, id core.MessageID) (any, error) {
	select {
	case l.contents <- struct{}{}:
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	release := sync.OnceFunc(func() { <-l.contents })
	defer release()
	m, err := l.Core.Messages.Message(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if m.Content.Size() <= smallContent {
		release()
	}
	// A client that stops reading must not keep the content in memory for ever. Without
	// support for deadlines the content may stay.
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	return nil, w.show(http.StatusOK, &api.Content{
		ID:      string(m.ID),
		Channel: string(m.Channel),
		Context: api.Origin(m.Origin),
		Text:    m.Content.Text,
		Content: m.Content.Blocks,
	})
}

// place returns the position of a message in the queue; zero if the message does not
// wait.
func (s *shared) place(m *core.Message) core.QueuePosition {
	if m.State != core.Waiting {
		return core.QueuePosition{}
	}
	return s.Core.Messages.QueuePosition(m.ID)
}

// current returns the current state of the message, or m if the message cannot be read.
func (s *shared) current(ctx context.Context, m core.Message) core.Message {
	if now, err := s.Core.Messages.Message(ctx, m.ID); err == nil {
		return now
	}
	return m
}

// coalescedTimeout bounds the wait for the message that carries the reply. Both messages
// get an outcome at the same moment.
const coalescedTimeout = 2 * time.Second

// showOutcome is showMessage with the text of a reply carried by a message of another
// adapter, because the HTTP client never sees the carrying message. If the carrier cannot
// be read, the member into still names the carrier.
func (s *shared) showOutcome(ctx context.Context, m *core.Message, at core.QueuePosition, length promptLength) *api.Message {
	if m.Reply.Via != "" && m.Adapter == adapterName {
		ctx, cancel := context.WithTimeout(ctx, coalescedTimeout)
		defer cancel()
		if carrier, err := s.Core.Messages.Wait(ctx, m.Reply.Into); err == nil {
			m.Reply.Text = carrier.Reply.Text
		}
	}
	return showMessage(m, at, length)
}

func messagePath(id core.MessageID) string { return api.MessagePath(string(id)) }
