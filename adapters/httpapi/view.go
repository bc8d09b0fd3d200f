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

// place returns the position of a message in its queue; zero if the message does not wait.
func (v *messageView) place(m *core.Message) core.QueuePosition {
	if m.State != core.Waiting {
		return core.QueuePosition{}
	}
	return v.core.QueuePosition(m.ID)
}

// current returns the message as it is now, or m if the message cannot be read.
func (v *messageView) current(ctx context.Context, m core.Message) core.Message {
	if now, err := v.core.Message(ctx, m.ID); err == nil {
		return now
	}
	return m
}

// coalescedTimeout bounds the wait for the message that carries the reply. Both messages
// get their outcome at the same moment.
const coalescedTimeout = 2 * time.Second

// completeCoalesced sets the text of a message whose reply another adapter's message
// carries, because the sender over HTTP never sees that message. If that message cannot
// be read, the member into still names it.
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

// maxDeliveries is the number of outcomes whose delivery is remembered. The ledger does
// not record them: over HTTP a client asks, and may ask again.
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

// note remembers that a client has got the message's outcome.
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

// at returns when a client first got the outcome, or the zero time if that is not known.
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
