package botapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"bareclaw/internal/testkit/botapi"
)

func ids(list []update) []int64 {
	out := []int64{}
	for _, u := range list {
		out = append(out, u.ID)
	}
	return out
}

func TestOffsets(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	var sent []int64
	for _, text := range []string{"a", "b", "c", "d"} {
		sent = append(sent, chat.Send(anna, text).UpdateID)
	}
	check := func(body fields, want []int64) {
		t.Helper()
		if got := ids(updates(t, s, body)); !slices.Equal(got, want) {
			t.Errorf("getUpdates %v: %v, want %v", body, got, want)
		}
	}
	check(nil, sent)
	check(fields{"limit": 2}, sent[:2])
	check(nil, sent) // nothing was acknowledged
	check(fields{"offset": sent[1]}, sent[1:])
	check(fields{"offset": sent[0]}, sent[1:]) // what is gone stays gone
	check(fields{"offset": -2}, sent[2:])
	check(nil, sent[2:])
	if got := s.Pending(); !slices.Equal(got, sent[2:]) {
		t.Errorf("pending %v", got)
	}
	check(fields{"offset": sent[3] + 1}, []int64{})
}

func TestOffsetInTheFuture(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t, botapi.Lenient())
	first := chat.Send(anna, "a").UpdateID
	if got := ids(updates(t, s, fields{"offset": first + 100})); !slices.Equal(got, []int64{first}) || len(s.Violations()) != 1 {
		t.Errorf("got %v and %q", got, s.Violations())
	}
}

func TestLongPoll(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	poll := begin(t, s, "getUpdates", fields{"timeout": 50})
	s.Await(t, "poll", s.Polling)
	id := chat.Send(anna, "hello").UpdateID
	var list []update
	decode(t, (<-poll).Result, &list)
	if !slices.Equal(ids(list), []int64{id}) || list[0].Message.Text != "hello" || list[0].Message.From.ID != anna.ID {
		t.Errorf("got %+v", list)
	}
	updates(t, s, fields{"offset": id + 1})
	began := time.Now()
	if list := updates(t, s, fields{"timeout": 1}); len(list) > 0 || time.Since(began) < time.Second {
		t.Errorf("got %v after %v", list, time.Since(began))
	}
	if s.Polling() {
		t.Error("a poll that is over is still there")
	}
}

func TestTwoPollers(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	first := begin(t, s, "getUpdates", fields{"timeout": 50})
	s.Await(t, "poll", s.Polling)
	second := begin(t, s, "getUpdates", fields{"timeout": 50})
	r := <-first
	if r.Code != http.StatusConflict || r.Description != "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running" {
		t.Errorf("the first poll: %+v", r)
	}
	s.Await(t, "second poll", s.Polling)
	id := chat.Send(anna, "hi").UpdateID
	var got []update
	decode(t, (<-second).Result, &got)
	if !slices.Equal(ids(got), []int64{id}) {
		t.Errorf("the second poll: %v", got)
	}
}

func TestAllowedUpdates(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	m := chat.Send(anna, "hi")
	if id := chat.React(anna, m.MessageID, "👍"); id != 0 {
		t.Error("a reaction was delivered unasked")
	}
	updates(t, s, fields{"allowed_updates": []string{"message_reaction"}})
	updates(t, s, nil) // the list is remembered
	if chat.React(anna, m.MessageID, "👍") == 0 || chat.Send(anna, "not wanted").UpdateID != 0 {
		t.Error("the list was forgotten")
	}
	updates(t, s, fields{"allowed_updates": []string{}}) // the default again
	if chat.React(anna, m.MessageID, "") != 0 || chat.Send(anna, "wanted").UpdateID == 0 {
		t.Error("an empty list is not the default")
	}
	got := updates(t, s, nil)
	if len(got) != 3 || got[1].Reaction == nil || got[2].Message.Text != "wanted" {
		t.Errorf("got %+v", got)
	}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	refused(t, s, "setWebhook", fields{"url": "http://example.org"}, 400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
	poll := begin(t, s, "getUpdates", fields{"timeout": 50})
	s.Await(t, "poll", s.Polling)
	must(t, s, "setWebhook", fields{"url": "https://example.org/hook"}, nil)
	if r := <-poll; r.Code != 409 || r.Description != "Conflict: terminated by setWebhook request" {
		t.Errorf("the poll: %+v", r)
	}
	refused(t, s, "getUpdates", nil, 409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	chat.Send(anna, "hi")
	var info struct {
		URL     string
		Pending int `json:"pending_update_count"`
	}
	must(t, s, "getWebhookInfo", nil, &info)
	if info.URL != "https://example.org/hook" || info.Pending != 1 {
		t.Errorf("info %+v", info)
	}
	must(t, s, "deleteWebhook", nil, nil)
	if got := updates(t, s, nil); len(got) != 1 {
		t.Errorf("%d updates, want the one that waited", len(got))
	}
	must(t, s, "deleteWebhook", fields{"drop_pending_updates": true}, nil)
	if got := updates(t, s, nil); len(got) != 0 {
		t.Errorf("%d updates, want none", len(got))
	}
}

// TestLibraryEchoes has the library poll and answer, be stopped, and go on
// where it was.
func TestLibraryEchoes(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	run := func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBot(t, s, bot.WithHTTPClient(3*time.Second, http.DefaultClient), bot.WithNotAsyncHandlers(),
			bot.WithDefaultHandler(func(ctx context.Context, b *bot.Bot, u *models.Update) {
				_, err := b.SendMessage(ctx, &bot.SendMessageParams{ChatID: u.Message.Chat.ID, Text: "ok: " + u.Message.Text})
				if err != nil && ctx.Err() == nil { // a bot that is stopped may not read its answer
					t.Error(err)
				}
			}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.Start(ctx)
		}()
		return func() {
			cancel()
			<-done
		}
	}
	stop := run()
	chat.Send(anna, "one")
	chat.AwaitText("ok: one")
	s.Await(t, "acknowledgement", func() bool { return len(s.Pending()) == 0 })
	stop()
	chat.Send(anna, "two")
	stop = run()
	defer stop()
	chat.AwaitText("ok: two")
	if got := len(chat.FromBot()); got != 2 {
		t.Errorf("%d answers, want 2:\n%s", got, s.Dump())
	}
	if !strings.Contains(s.Dump(), "ok: two") {
		t.Errorf("the dump lacks the last message:\n%s", s.Dump())
	}
}
