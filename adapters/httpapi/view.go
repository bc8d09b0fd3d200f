package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// A messageReader reads messages.
type messageReader interface {
	Message(ctx context.Context, id core.MessageID) (core.Message, error)
	Wait(ctx context.Context, id core.MessageID) (core.Message, error)
	QueuePosition(id core.MessageID) core.QueuePosition
}

// messageView answers with messages.
type messageView struct {
	core       messageReader
	deliveries *deliveries
}

// show answers with a message and its position in the queue.
func (v *messageView) show(w *response, r *http.Request, m *core.Message, at core.QueuePosition, length promptLength) error {
	v.completeCoalesced(r.Context(), m)
	err := w.show(http.StatusOK, showMessage(m, at, length))
	if err == nil && r.Method != http.MethodHead {
		v.deliveries.note(m)
	}
	return err
}

// place returns the position of a message in the queue; zero if the message does not
// wait.
func (v *messageView) place(m *core.Message) core.QueuePosition {
	if m.State != core.Waiting {
		return core.QueuePosition{}
	}
	return v.core.QueuePosition(m.ID)
}

// current returns the current state of the message, or m if the message cannot be read.
func (v *messageView) current(ctx context.Context, m core.Message) core.Message {
	if now, err := v.core.Message(ctx, m.ID); err == nil {
		return now
	}
	return m
}

// coalescedTimeout bounds the wait for the message that carries the reply. Both messages
// get an outcome at the same moment.
const coalescedTimeout = 2 * time.Second

// completeCoalesced copies the text of a reply carried by a message of another adapter,
// because the HTTP client never sees the carrying message. If the carrier cannot be
// read, the member into still names the carrier.
func (v *messageView) completeCoalesced(ctx context.Context, m *core.Message) {
	if m.Reply.Via == "" || m.Adapter != adapterName {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, coalescedTimeout)
	defer cancel()
	if carrier, err := v.core.Wait(ctx, m.Reply.Into); err == nil {
		m.Reply.Text = carrier.Reply.Text
	}
}

// messagePath returns the path of a message.
func messagePath(id core.MessageID) string { return api.MessagePath(string(id)) }

// maxDeliveries is how many deliveries of outcomes are remembered. The ledger does not
// record deliveries over HTTP: a client requests an outcome, and may request again.
const maxDeliveries = 4096

// deliveries remembers when clients got the latest outcomes. Every message is noted, but
// few are looked up: hence a ring and no map. The zero value is ready; all methods are
// safe for concurrent use.
type deliveries struct {
	mu    sync.Mutex // protects the fields below
	ring  []delivery
	count int // ever noted
}

type delivery struct {
	id core.MessageID
	at time.Time
}

// note remembers that a client has received the message's outcome.
func (d *deliveries) note(m *core.Message) {
	if !m.State.Final() {
		return
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ring == nil {
		d.ring = make([]delivery, maxDeliveries)
	}
	d.ring[d.count%maxDeliveries] = delivery{m.ID, now}
	d.count++
}

// at returns when a client first received the outcome, or the zero time if unknown.
func (d *deliveries) at(id core.MessageID) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := max(0, d.count-maxDeliveries); i < d.count; i++ { // oldest first
		if e := &d.ring[i%maxDeliveries]; e.id == id {
			return e.at
		}
	}
	return time.Time{}
}
