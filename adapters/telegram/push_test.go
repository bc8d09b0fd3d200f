package telegram

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/core"
	"bareclaw/core/lanes"
	"bareclaw/core/ledger"
	"bareclaw/core/sessionfile"
	"bareclaw/internal/testkit/botapi"
)

// newPushAdapter returns an adapter that serves user 7 when it is run, on a ledger of
// its own.
func newPushAdapter(t *testing.T, api *botapi.Server) *Adapter {
	t.Helper()
	return newPushAdapterOn(t, api, func(l *ledger.Ledger) core.Ledger { return l })
}

// newPushAdapterOn is newPushAdapter with a ledger that something is done to.
func newPushAdapterOn(t *testing.T, api *botapi.Server, do func(*ledger.Ledger) core.Ledger) *Adapter {
	t.Helper()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	l, err := ledger.Open(filepath.Join(dir, "ledger.db"), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	sessions, err := sessionfile.Open(filepath.Join(dir, "sessions.json"), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sessions.Close() })
	a, err := New(Options{
		Core: CoreOf(lanes.New(lanes.Options{Ledger: do(l), Sessions: sessions, Log: log})), Push: &core.PushRegistry{}, Log: log,
		Token: api.Token(), API: api.URL(), Allowed: []int64{7}, StateDir: filepath.Join(dir, "state"), CWD: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// runPushAdapter runs it until stop is called.
func runPushAdapter(t *testing.T, a *Adapter) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }() // ends by stop
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestPushBeforeRun: a push that comes before Telegram is served waits for that.
func TestPushBeforeRun(t *testing.T) {
	t.Parallel()
	api := botapi.New(t)
	chat := api.Private(api.User(7, "Anna", "", ""))
	a := newPushAdapter(t, api)
	pushed := make(chan error, 1)
	go func() { pushed <- a.o.Push.Send(t.Context(), core.Push{ID: "1", Channel: "tg-7", Text: "early"}) }()
	for {
		if _, err := a.o.Core.Delivery(t.Context(), "push:1"); err == nil {
			break
		} else if !errors.Is(err, core.ErrNotFound) {
			t.Fatal(err)
		}
	}
	defer runPushAdapter(t, a)()
	if err := <-pushed; err != nil {
		t.Error(err)
	}
	if err := a.o.Push.Send(t.Context(), core.Push{ID: "1", Channel: "tg-7", Text: "early"}); err != nil {
		t.Errorf("the same once more: %v", err)
	}
	for _, other := range []core.Push{{ID: "1", Channel: "tg-7", Text: "late"}, {ID: "1", Channel: "tg-7-5", Text: "early"}} {
		if err := a.o.Push.Send(t.Context(), other); !errors.Is(err, core.ErrKeyReused) {
			t.Errorf("%+v under the same id: %v", other, err)
		}
	}
	if got := chat.FromBot(); len(got) != 1 || got[0].Text != "early" {
		t.Errorf("got %v", got)
	}
}

// TestPushLate: what was not sent in time is not sent any more.
func TestPushLate(t *testing.T) {
	t.Parallel()
	api := botapi.New(t)
	chat := api.Private(api.User(7, "Anna", "", ""))
	a := newPushAdapter(t, api)
	a.pusher.patience = 10 * time.Millisecond
	err := a.o.Push.Send(t.Context(), core.Push{ID: "1", Channel: "tg-7", Text: "late"})
	if told := (*core.PushError)(nil); !errors.As(err, &told) || told.Kind != nil || !strings.Contains(told.Text, "it will not be sent.") {
		t.Errorf("got %v", err)
	}
	a.pusher.patience = pushPatience
	defer runPushAdapter(t, a)()
	if err := a.o.Push.Send(t.Context(), core.Push{Channel: "tg-7", Text: "in time"}); err != nil {
		t.Error(err)
	}
	if got := chat.FromBot(); len(got) != 1 || got[0].Text != "in time" {
		t.Errorf("got %v", got)
	}
}

// TestPushUnconfirmed: of what may have been sent it is not said that it was not.
func TestPushUnconfirmed(t *testing.T) {
	t.Parallel()
	api := botapi.New(t)
	api.Private(api.User(7, "Anna", "", ""))
	a := newPushAdapter(t, api)
	defer runPushAdapter(t, a)()
	held := api.HoldAnswer("sendMessage", 7)
	defer held.Release()
	ctx, leave := context.WithCancel(t.Context())
	pushed := make(chan error, 1)
	go func() { pushed <- a.o.Push.Send(ctx, core.Push{Channel: "tg-7", Text: "perhaps"}) }()
	api.Await(t, "the message", held.Reached)
	leave()
	if err := <-pushed; !errors.Is(err, core.ErrUnconfirmed) {
		t.Errorf("got %v", err)
	}
}

// TestPushFileGone: a file that has gone or changed since it was asked for is told.
func TestPushFileGone(t *testing.T) {
	t.Parallel()
	api := botapi.New(t)
	api.Private(api.User(7, "Anna", "", ""))
	a := newPushAdapter(t, api)
	path := filepath.Join(a.o.CWD, "a.txt")
	for _, c := range []struct {
		change func() error
		want   string
	}{
		{func() error { return os.Remove(path) }, "there is no such file"},
		{func() error { return os.Symlink("/etc/passwd", path) }, "sent only from"},
		{func() error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) }, "it is empty"},
	} {
		b := pushBody{Text: "see", Media: &core.Media{Path: path}}
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		part := a.pusher.parts(b)[0]
		_, err := part.Send(t.Context(), a.sender.Client, chats.Address{Chat: 7})
		if !errors.Is(err, outbox.ErrUndeliverable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.want, err)
		}
	}
	if calls := api.Calls("sendDocument"); len(calls) != 0 {
		t.Errorf("sent %v", calls)
	}
}

// TestPushComposedAgain: a push is checked again when it is sent.
func TestPushComposedAgain(t *testing.T) {
	t.Parallel()
	api := botapi.New(t)
	a := newPushAdapter(t, api)
	d := core.Delivery{Kind: outbox.KindPush, Channel: "tg-7", Body: []byte(`{"text":"hi","media":{"Path":"/a.tgs","Type":""}}`)}
	parts, err := a.composer.compose(t.Context(), d)
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	d.Channel = "tg-8"
	if _, err := a.composer.compose(t.Context(), d); !errors.Is(err, outbox.ErrUndeliverable) || !strings.Contains(err.Error(), "BARECLAW_ALLOWED_USERS") {
		t.Errorf("got %v", err)
	}
	d.Body = []byte(`{`)
	if _, err := a.composer.compose(t.Context(), d); !errors.Is(err, outbox.ErrUndeliverable) {
		t.Errorf("got %v", err)
	}
}
