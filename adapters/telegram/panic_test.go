package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bareclaw/core"
	"bareclaw/core/lanes"
	"bareclaw/core/ledger"
	"bareclaw/core/sessionfile"
	"bareclaw/internal/testkit/botapi"
)

// A faultyCore panics in one method, the first time it is called.
type faultyCore struct {
	Core
	in   string
	once sync.Once
}

func (c *faultyCore) fault(method string) {
	if method == c.in {
		c.once.Do(func() { panic("a fault in " + method) })
	}
}

func (c *faultyCore) Receive(ctx context.Context, in []*core.Inbound) error {
	c.fault("Receive")
	return c.Core.Receive(ctx, in)
}

func (c *faultyCore) Submit(ctx context.Context, s core.Submission) (*core.Ticket, error) {
	c.fault("Submit")
	return c.Core.Submit(ctx, s)
}

func (c *faultyCore) Present(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error) {
	c.fault("Present")
	return c.Core.Present(ctx, key)
}

func (c *faultyCore) Message(ctx context.Context, id core.MessageID) (core.Message, error) {
	c.fault("Message")
	return c.Core.Message(ctx, id)
}

func (c *faultyCore) Delivered(ctx context.Context, d core.Delivery) error {
	c.fault("Delivered")
	return c.Core.Delivered(ctx, d)
}

// TestPanicFailsOneThing: wherever a fault of the program strikes, it is logged with its
// stack, costs at most the message or delivery at hand, and what comes later is served.
func TestPanicFailsOneThing(t *testing.T) {
	t.Parallel()
	for method, says := range map[string]string{
		"Receive":   "does not work",  // the poll is repeated
		"Submit":    "internal error", // the sender is told
		"Present":   "does not work",  // the outcome is sent without a live view
		"Message":   "",               // the outcome is given up
		"Delivered": "",               // likewise
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			api := botapi.New(t, botapi.WithoutRates())
			anna := api.User(7, "Anna", "", "")
			chat := api.Private(anna)
			log := serveFaulty(t, api, method)
			chat.Send(anna, "first")
			if says != "" {
				chat.AwaitText(says)
			}
			chat.Send(anna, "/verbose 1")
			chat.AwaitText("From now on")
			api.Await(t, "the panic in the log", func() bool {
				text := log.String()
				return strings.Contains(text, "a fault in "+method) && strings.Contains(text, "panic_test.go")
			})
		})
	}
}

// serveFaulty serves user 7 with an agent that cannot be started, until the test ends, and
// returns the log.
func serveFaulty(t *testing.T, api *botapi.Server, method string) *lockedBuffer {
	t.Helper()
	dir, out := t.TempDir(), &lockedBuffer{}
	log := slog.New(slog.NewTextHandler(out, nil))
	l, err := ledger.Open(filepath.Join(dir, "ledger.db"), log)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := sessionfile.Open(filepath.Join(dir, "sessions.json"), log)
	if err != nil {
		t.Fatal(err)
	}
	m := lanes.New(lanes.Options{Ledger: l, Sessions: sessions, Agent: idleAgent{}, Log: log, QueueLimit: 100})
	a, err := New(Options{
		Core: &faultyCore{Core: CoreOf(m), in: method}, Push: &core.PushRegistry{}, Log: log, Token: api.Token(), API: api.URL(), Allowed: []int64{7},
		StateDir: dir, CWD: dir, Shown: func(json.RawMessage) []core.DisplayEvent { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := runPushAdapter(t, a)
	t.Cleanup(func() {
		stop()
		m.Detach()
		_ = sessions.Close()
		_ = l.Close()
	})
	return out
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
