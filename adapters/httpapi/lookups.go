package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

const (
	// maxContentReads bounds how many contents read by clients are in memory at once:
	// each content may be as large as a body.
	maxContentReads = 2
	// smallContent is the size in bytes up to which a content read from the ledger no
	// longer counts.
	smallContent = 1 << 20
)

// A messageWaiter also waits for channels that are parked.
type messageWaiter interface {
	WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error)
}

// messageControl cancels and traces messages.
type messageControl interface {
	Cancel(ctx context.Context, id core.MessageID) (core.Message, error)
	Trace(ctx context.Context, id core.MessageID) (core.Trace, error)
}

// lookups shows and cancels messages.
type lookups struct {
	core      messageReader
	waiter    messageWaiter
	control   messageControl
	view      *messageView
	lifecycle *lifecycle
	contents  chan struct{} // has an entry for each content being read
}

func newLookups(b backend, v *messageView, l *lifecycle) *lookups {
	return &lookups{core: b, waiter: b, control: b, view: v, lifecycle: l, contents: make(chan struct{}, maxContentReads)}
}

func (l *lookups) routes() []route {
	return []route{
		{http.MethodGet, "/messages/{id}", l.get},
		{http.MethodDelete, "/messages/{id}", l.cancel},
		{http.MethodGet, "/messages/{id}/content", l.content},
		{http.MethodGet, "/messages/{id}/trace", l.trace},
	}
}

func pathMessage(r *http.Request) core.MessageID { return core.MessageID(pathParam(r, "id")) }

// get shows a message; with ?wait=30s after the message has an outcome or the time has
// passed; with &until=parked also as soon as the message waits on a parked channel.
func (l *lookups) get(w *response, r *http.Request) error {
	wait, err := waitParam(r)
	if err != nil {
		return err
	}
	await, err := l.untilParam(r)
	if err != nil {
		return err
	}
	id := pathMessage(r)
	if wait == 0 {
		m, err := l.core.Message(r.Context(), id)
		if err != nil {
			return err
		}
		return l.view.show(w, r, &m, l.view.place(&m), longPrompt)
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	defer l.lifecycle.onDrain(cancel)()
	m, err := await(ctx, id)
	if ctx.Err() != nil && r.Context().Err() == nil && l.lifecycle.handingOver() {
		return errHandedOver
	}
	if err != nil && (ctx.Err() == nil || r.Context().Err() != nil || m.ID == "") {
		return err
	}
	at := l.view.place(&m)
	if !m.State.Final() {
		w.Header().Set("Retry-After", retryAfter(at.Until))
	}
	return l.view.show(w, r, &m, at, longPrompt)
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

// untilParam returns the wait function selected by the parameter until.
func (l *lookups) untilParam(r *http.Request) (func(context.Context, core.MessageID) (core.Message, error), error) {
	switch r.URL.Query().Get("until") {
	case "", "outcome":
		return l.core.Wait, nil
	case api.UntilParked:
		return l.waiter.WaitOrPark, nil
	}
	return nil, badRequest(api.BadWait, `The parameter until must be "outcome" or "parked".`)
}

func (l *lookups) cancel(w *response, r *http.Request) error {
	m, err := l.control.Cancel(r.Context(), pathMessage(r))
	if w.repeated && errors.Is(err, core.ErrNotWaiting) && m.Reply.Code == core.CodeCancelled {
		err = nil // the repeated request itself cancelled the message
	}
	if errors.Is(err, core.ErrNotWaiting) {
		p := refuse(http.StatusConflict, api.NotWaiting, "Only a message that waits can be cancelled; a running turn is ended by POST /channels/{key}/interrupt.")
		p.body.Message = showMessage(&m, core.QueuePosition{}, shortPrompt)
		return p
	}
	if err != nil {
		return err
	}
	return l.view.show(w, r, &m, core.QueuePosition{}, shortPrompt)
}

func (l *lookups) trace(w *response, r *http.Request) error {
	t, err := l.control.Trace(r.Context(), pathMessage(r))
	if err != nil {
		return err
	}
	return w.show(http.StatusOK, showTrace(&t, l.view.deliveries.at(t.Message.ID)))
}

// content shows a message's content as submitted, media included.
func (l *lookups) content(w *response, r *http.Request) error {
	release, err := l.reserveContent(r.Context())
	if err != nil {
		return err
	}
	defer release()
	m, err := l.core.Message(r.Context(), pathMessage(r))
	if err != nil {
		return err
	}
	if m.Content.Size() <= smallContent {
		release()
	}
	return writeContent(w, &m)
}

// reserveContent waits until a content may be read into memory. The caller calls release
// when the content is no longer needed; further calls do nothing.
func (l *lookups) reserveContent(ctx context.Context) (release func(), err error) {
	select {
	case l.contents <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	held := true
	return func() {
		if held {
			held = false
			<-l.contents
		}
	}, nil
}

// writeContent writes the content in pieces, because a single document would need
// another copy. The members equal the members of a POST /message.
func writeContent(w *response, m *core.Message) error {
	head, err := marshal(struct {
		ID      core.MessageID  `json:"message_id"`
		Channel core.ChannelKey `json:"channel"`
		Context api.Origin      `json:"context"`
		Text    string          `json:"text,omitzero"`
	}{m.ID, m.Channel, api.Origin(m.Origin), m.Content.Text})
	if err != nil {
		return err
	}
	pieces := []json.RawMessage{json.RawMessage(head)}
	if blocks := m.Content.Blocks; len(blocks) > 0 {
		separator := json.RawMessage(`,"content":[`)
		pieces[0] = pieces[0][:len(head)-1] // without the closing brace
		for _, block := range blocks {
			pieces = append(pieces, separator, block)
			separator = json.RawMessage(",")
		}
		pieces = append(pieces, json.RawMessage("]}"))
	}
	pieces = append(pieces, json.RawMessage("\n"))
	size := 0
	for _, piece := range pieces {
		size += len(piece)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(size))
	// A client that stops reading must not keep the content in memory for ever. Without
	// support for deadlines the content may stay.
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	w.WriteHeader(http.StatusOK)
	for _, piece := range pieces {
		if _, err := w.Write(piece); err != nil {
			return nil // the client has disconnected
		}
	}
	return nil
}
