package telegram

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/botapi"
)

// forbidden is Telegram's answer to a bot that a user has blocked.
func forbidden() botapi.Step {
	return botapi.Refuse(403, "Forbidden: bot was blocked by the user")
}

// TestPushAgain: a push that failed can be asked for again under its id, and is sent then if nothing of it can have
// arrived. Whatever may have arrived is not sent again.
func TestPushAgain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 900) // two messages
	for name, c := range map[string]struct {
		steps []botapi.Step
		first error // the kind of the first attempt's; nil: nothing was sent
		sent  int   // messages in the end
	}{
		"nothing is sent": {
			steps: []botapi.Step{forbidden()},
			sent:  2,
		},
		"nothing is sent, after a pause that Telegram asked for": {
			steps: []botapi.Step{botapi.TooMany(1), forbidden()},
			sent:  2,
		},
		"half of it is sent": {
			steps: []botapi.Step{{}, forbidden()},
			first: core.ErrUnconfirmed,
			sent:  1,
		},
		"it has arrived, and the answer is lost": {
			steps: []botapi.Step{botapi.ResetAfter(), forbidden()},
			first: core.ErrUnconfirmed,
			sent:  1,
		},
		"it has not arrived, as nobody knows": {
			steps: []botapi.Step{botapi.InternalError(), forbidden()},
			first: core.ErrUnconfirmed,
			sent:  0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, api, _, chat := serve(t)
			push := core.Push{
				ID:      "1",
				Channel: "tg-7",
				Text:    long,
			}
			api.Script("sendMessage", 7, c.steps...)
			err := a.o.Push.Send(t.Context(), push)
			told := (*core.PushError)(nil)
			if !errors.As(err, &told) || !errors.Is(told.Kind, c.first) || !strings.Contains(told.Text, "blocked by the user") {
				t.Fatalf("the first attempt: %v", err)
			}
			for range 2 {
				if err := a.o.Push.Send(t.Context(), push); !errors.Is(err, c.first) {
					t.Errorf("another attempt: %v, want %v", err, c.first)
				}
			}
			if n := len(chat.FromBot()); n != c.sent {
				t.Errorf("%d messages are sent, want %d:\n%s", n, c.sent, api.Dump())
			}
		})
	}
}

// TestPushFreesItsID: the id of a push of which nothing was sent can be used for another one, once.
func TestPushFreesItsID(t *testing.T) {
	t.Parallel()
	a, api, _, chat := serve(t)
	first := core.Push{
		ID:      "1",
		Channel: "tg-7",
		Text:    "first",
	}
	second := first
	second.Text = "second"
	api.Script("sendMessage", 7, forbidden())
	if err := a.o.Push.Send(t.Context(), first); err == nil {
		t.Fatal("a push is sent to a user who has blocked the bot")
	}
	if err := a.o.Push.Send(t.Context(), second); err != nil {
		t.Error(err)
	}
	if err := a.o.Push.Send(t.Context(), first); !errors.Is(err, core.ErrKeyReused) {
		t.Errorf("the id is used again: %v", err)
	}
	if got := chat.FromBot(); len(got) != 1 || got[0].Text != "second" {
		t.Errorf("got %v", got)
	}
}

// TestWithdrawnPushAgain: a push whose caller has left while it waited is sent once when it is asked for again.
func TestWithdrawnPushAgain(t *testing.T) {
	t.Parallel()
	a, api, _, chat := serve(t)
	held := api.Hold("sendMessage", 7)
	sent := make(chan error, 2)
	go func() { sent <- a.o.Push.Send(t.Context(), core.Push{ID: "1", Channel: "tg-7", Text: "first"}) }()
	api.Await(t, "the first", held.Reached)
	second := core.Push{
		ID:      "2",
		Channel: "tg-7",
		Text:    "second",
	}
	ask := func(ctx context.Context) <-chan error {
		asked := make(chan error, 1)
		go func() { asked <- a.o.Push.Send(ctx, second) }()
		for a.out.Pending() < 2 {
			runtime.Gosched()
		}
		return asked
	}
	for range 3 {
		ctx, leave := context.WithCancel(t.Context())
		asked := ask(ctx)
		leave()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Fatalf("the caller has left: %v", err)
		}
	}
	last := ask(t.Context())
	held.Release()
	sent <- <-last
	for range 2 {
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
	if got := chat.FromBot(); len(got) != 2 || got[1].Text != "second" {
		t.Errorf("got %v", got)
	}
}
