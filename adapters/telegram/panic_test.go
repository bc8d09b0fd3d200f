package telegram

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"bareclaw/core"
	"bareclaw/core/lanes"
)

// A faultyLedger panics in one place, the first time that the adapter gets there.
type faultyLedger struct {
	core.Ledger
	in   string
	once sync.Once
}

func (l *faultyLedger) fault(place string, here bool) {
	if here && place == l.in {
		l.once.Do(func() { panic("a fault in " + place) })
	}
}

func (l *faultyLedger) Write(c core.Change, done func(error)) {
	l.fault("the poller", len(c.Inbound) > 0)
	l.fault("the receiver", slices.ContainsFunc(c.Records, func(r *core.Record) bool { return strings.HasPrefix(r.Key, "source:") }))
	l.fault("the end of a delivery", len(c.Delivered) > 0)
	l.Ledger.Write(c, done)
}

func (l *faultyLedger) Record(ctx context.Context, owner, key string) (core.Record, error) {
	l.fault("the view", strings.HasPrefix(key, "setting:"))
	return l.Ledger.Record(ctx, owner, key)
}

func (l *faultyLedger) Delivery(ctx context.Context, id string) (core.Delivery, error) {
	l.fault("the delivery", strings.HasPrefix(id, "reply:"))
	return l.Ledger.Delivery(ctx, id)
}

// TestPanicFailsOneThing: wherever a fault of the program strikes, it is logged with its
// stack, costs at most the message or delivery at hand, and what comes later is served.
func TestPanicFailsOneThing(t *testing.T) {
	t.Parallel()
	for place, says := range map[string]string{
		"the poller":            "does not work",  // the poll is repeated
		"the receiver":          "internal error", // the sender is told
		"the view":              "does not work",  // the outcome is sent without a live view
		"the delivery":          "",               // the outcome is given up
		"the end of a delivery": "",               // likewise
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			log := &lockedBuffer{}
			_, api, anna, chat := serve(t, func(c *lanes.Options, o *Options) {
				c.Ledger, o.Log = &faultyLedger{Ledger: c.Ledger, in: place}, slog.New(slog.NewTextHandler(log, nil))
			})
			chat.Send(anna, "first")
			if says != "" {
				chat.AwaitText(says)
			}
			chat.Send(anna, "/verbose 1")
			chat.AwaitText("From now on")
			api.Await(t, "the panic in the log", func() bool {
				text := log.String()
				return strings.Contains(text, "a fault in "+place) && strings.Contains(text, "panic_test.go")
			})
		})
	}
}

// A lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
