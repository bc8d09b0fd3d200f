package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/wait"
)

// maxRetryAfter bounds the header Retry-After: a parked channel may continue sooner than
// predicted.
const maxRetryAfter = 5 * time.Minute

type messages struct{ *shared }

// post accepts a message and answers in the form preferred by the request: at once
// (Prefer: respond-async), as a stream (Accept: text/event-stream), or with the outcome.
func (m *messages) post(w *response, r *http.Request) (any, error) {
	sub, err := readSubmission(w, r)
	if err != nil {
		return nil, err
	}
	w.resend = func() []byte { return encodeSubmission(&sub) }
	if err := m.checkChannel(r.Context(), sub.Channel); err != nil {
		return nil, err
	}
	if err := m.checkReach(w, sub.Channel); err != nil {
		return nil, err
	}
	if err := m.checkTyped(w, texts(&sub.Content)...); err != nil {
		return nil, err
	}
	return m.submit(w, r, m.withInertNames(sub))
}

// retry submits the content of a failed or cancelled message again, as a new message,
// and answers like post.
func (m *messages) retry(w *response, r *http.Request, id core.MessageID) (any, error) {
	if err := readOptionalBody(w, r, &struct{}{}); err != nil {
		return nil, err
	}
	sub, msg, err := m.Core.Decider.Resubmission(r.Context(), id)
	if errors.Is(err, core.ErrNotFailed) {
		p := refuse(http.StatusConflict, api.NotFailed, "Only a message that failed or was cancelled can be tried again; this one is "+string(msg.State)+".")
		p.body.Message = showMessage(&msg, core.QueuePosition{}, shortPrompt)
		return nil, p
	}
	if err != nil {
		return nil, err
	}
	if w.local && sub.Decides != nil {
		return nil, notOnSocket("A turn that was cut is continued over TCP, because that answers a question to a person")
	}
	if err := m.checkReach(w, sub.Channel); err != nil {
		return nil, err
	}
	w.resend = func() []byte { return nil }
	return m.submit(w, r, sub)
}

func (m *messages) submit(w *response, r *http.Request, sub core.Submission) (any, error) {
	switch {
	case lists(r.Header["Prefer"], "respond-async"): // RFC 7240, section 4.1
		return m.submitAsync(w, r, sub)
	case lists(r.Header["Accept"], "text/event-stream"):
		return (&streams{m.shared}).submit(w, r, sub)
	default:
		return m.submitAndWait(w, r, sub)
	}
}

func (m *messages) submitAsync(w *response, r *http.Request, sub core.Submission) (any, error) {
	t, err := m.Core.Lanes.Submit(r.Context(), sub)
	if err != nil {
		return nil, err
	}
	noteReplay(w, t)
	w.Header().Set("Preference-Applied", "respond-async")
	if wait.IsClosed(m.parked(t)) {
		return nil, answerParked(w, &t.Message, t.QueuePosition())
	}
	return nil, answerAccepted(w, &t.Message, core.QueuePosition{})
}

func noteReplay(w *response, t *core.Ticket) {
	if t.Existing {
		w.Header().Set(api.HeaderReplayed, "true")
	}
}

// submitAndWait holds the request until the message has an outcome, or waits on a parked
// channel. A disconnect of the client does not affect the message.
func (m *messages) submitAndWait(w *response, r *http.Request, sub core.Submission) (any, error) {
	t, err := m.accept(w, r, sub)
	if err != nil {
		return nil, err
	}
	noteReplay(w, t)
	select {
	case <-t.Done(): // already, but for a repeated or large message or when the server drains
	case <-m.parked(t):
		if !wait.IsClosed(t.Done()) {
			return nil, answerParked(w, &t.Message, t.QueuePosition())
		}
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	case <-m.lifecycle.Done():
		if !wait.IsClosed(t.Done()) { // if both are closed, the outcome is the better answer
			if m.lifecycle.handingOver() {
				return nil, leaveHeld(w, r, &t.Message)
			}
			now := m.current(r.Context(), t.Message)
			w.Header().Set("Retry-After", "1")
			return nil, answerAccepted(w, &now, core.QueuePosition{})
		}
	}
	msg := t.Outcome()
	return m.showOutcome(r.Context(), &msg, core.QueuePosition{}, shortPrompt), nil
}

// accept submits a message whose sender waits. A large body counts as held until the message is
// accepted; the sender of another one is woken only once.
func (m *messages) accept(w *response, r *http.Request, sub core.Submission) (*core.Ticket, error) {
	defer w.body.release()
	if w.body.size > smallContent {
		return m.Core.Lanes.Submit(r.Context(), sub)
	}
	w.body.release()
	return m.Core.Lanes.SubmitAndWait(r.Context(), sub, m.lifecycle.Done())
}

// parked is closed while the message waits on a parked channel; nil for a repeated message
// whose channel has continued since it was parked.
func (m *messages) parked(t *core.Ticket) <-chan struct{} {
	parked := t.Parked()
	if t.Existing && wait.IsClosed(parked) && m.Core.Messages.QueuePosition(t.Message.ID).Until.IsZero() {
		return nil
	}
	return parked
}

func answerParked(w *response, m *core.Message, at core.QueuePosition) error {
	w.Header().Set("Retry-After", retryAfter(at.Until))
	return answerAccepted(w, m, at)
}

// retryAfter returns the header's value in whole seconds: the time until the channel
// continues, or one second.
func retryAfter(until time.Time) string {
	d := min(max(time.Until(until), time.Second), maxRetryAfter)
	return strconv.Itoa(int(math.Ceil(d.Seconds())))
}

// answerAccepted answers that the message is accepted, with the location of the outcome
// and the reason for waiting.
func answerAccepted(w *response, m *core.Message, at core.QueuePosition) error {
	w.Header().Set("Location", messagePath(m.ID))
	return w.show(http.StatusAccepted, showAccepted(m, at, shortPrompt))
}

// lists reports whether a comma-separated header has an item, with any parameters.
func lists(values []string, item string) bool {
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
