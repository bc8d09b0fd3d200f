package telegram

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/core"
)

// TestPushBeforeRun: a push that comes before Telegram is served waits for that.
func TestPushBeforeRun(t *testing.T) {
	t.Parallel()
	a, _, _, chat := ready(t)
	pushed := make(chan error, 1)
	go func() { pushed <- a.o.Push.Send(t.Context(), core.Push{ID: "1", Channel: "tg-7", Text: "early"}) }()
	for {
		if _, err := a.o.Core.Deliveries.Delivery(t.Context(), "push:1"); err == nil {
			break
		} else if !errors.Is(err, core.ErrNotFound) {
			t.Fatal(err)
		}
	}
	defer run(t, a)()
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
	a, _, _, chat := ready(t)
	a.pusher.patience = 10 * time.Millisecond
	err := a.o.Push.Send(t.Context(), core.Push{ID: "1", Channel: "tg-7", Text: "late"})
	if told := (*core.PushError)(nil); !errors.As(err, &told) || told.Kind != nil || !strings.Contains(told.Text, "it will not be sent.") {
		t.Errorf("got %v", err)
	}
	a.pusher.patience = pushPatience
	stop := run(t, a)
	if err := a.o.Push.Send(t.Context(), core.Push{Channel: "tg-7", Text: "in time"}); err != nil {
		t.Error(err)
	}
	stop()
	if got := chat.FromBot(); len(got) != 1 || got[0].Text != "in time" || a.out.Pending() != 0 {
		t.Errorf("got %v, and %d deliveries are left", got, a.out.Pending())
	}
}

// TestPushFileGone: a file that has gone or changed since it was asked for is told.
func TestPushFileGone(t *testing.T) {
	t.Parallel()
	a, api, _, _ := ready(t)
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
	a, _, _, _ := serve(t)
	for channel, want := range map[core.ChannelKey]string{"tg-8": "BARECLAW_ALLOWED_USERS", "tg-7": "cannot be sent"} {
		d := &core.Delivery{ID: "push:" + string(channel), Kind: outbox.KindPush, Adapter: Name, Channel: channel, Body: []byte(`{"text":"hi"}`)}
		if channel == "tg-7" {
			d.Body = []byte(`5`)
		}
		if err := a.o.Core.Deliveries.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		now, err := a.out.Wait(t.Context(), d.ID)
		if err != nil || now.State != core.DeliveryFailed || !strings.Contains(now.Error, want) {
			t.Errorf("%s: got %+v, %v", channel, now, err)
		}
	}
}
