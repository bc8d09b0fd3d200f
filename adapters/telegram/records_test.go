package telegram

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/lanes"
	fakeapi "bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

// TestRecordsOfEarlierVersions holds that records of earlier versions keep their meaning: names,
// and the channels of groups that became supergroups.
func TestRecordsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	a, ctx := recording(t), t.Context()
	name := map[string]string{"name": "x"}
	moved := map[string]any{"to": -200, "done": true}
	err := a.env.Records.Write(ctx, records.Entry{Key: "bot", Value: name}, records.Entry{Key: "topic:tg--5-3", Value: name},
		records.Entry{Key: "moved:-100", Value: moved}, records.Entry{Key: "moved:-300", Value: map[string]int{"to": -400}})
	if err == nil {
		err = a.chats.load(ctx, a.health)
	}
	if err != nil {
		t.Fatal(err)
	}
	topic := a.chats.topic(ctx, chats.Address{Chat: -5, Thread: 3})
	if a.health.name() != "x" || topic != "x" {
		t.Errorf("the bot is called %q and the topic %q", a.health.name(), topic)
	}
	for chat, key := range map[int64]string{-100: "tg--200", -200: "tg--200", -300: "tg--300", -400: "tg--300"} {
		if got := a.env.Moves.Present(chats.Address{Chat: chat}).Key(); string(got) != key {
			t.Errorf("the channel of %d is %s, want %s", chat, got, key)
		}
	}
}

// A watchedLedger signals each write that has ended.
type watchedLedger struct {
	core.Ledger
	written chan struct{} // capacity 1
}

func (l *watchedLedger) Write(c core.Change, done func(error)) {
	l.Ledger.Write(c, func(err error) {
		done(err)
		select {
		case l.written <- struct{}{}:
		default:
		}
	})
}

// TestDisplayedByEarlierProcess starts on the records of messages that an earlier process was
// displaying when it was killed: a summary replaces the status of an ended turn, and no other
// message stays. A message of the group that the chat was before is not confused with the message
// of the same id in the chat.
func TestDisplayedByEarlierProcess(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, tc := range map[string]struct {
		key   string // "ID" stands for the message id
		value func(id int) any
		want  string // empty: the message is deleted
	}{
		"status":              {"shown:tg-7:ID", func(int) any { return object{} }, ""},
		"text":                {"shown:tg-7:ID", func(int) any { return object{"name": "m"} }, ""},
		"summary":             {"shown:tg-7:ID", func(int) any { return object{"summary": "*Done*", "chat": 7} }, "Done"},
		"of the former group": {"shown:tg--100:ID", func(int) any { return object{"chat": -100} }, "Working…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watched := &watchedLedger{written: make(chan struct{}, 1)}
			a, _, _, chat := ready(t, func(c *lanes.Options, _ *Options) { watched.Ledger, c.Ledger = c.Ledger, watched })
			text := outbox.Text{Document: markdown.Plain("Working…")}
			id, err := text.Send(t.Context(), a.sender.Client, chats.Address{Chat: 7})
			check.OK(t, err)
			key := strings.Replace(tc.key, "ID", strconv.Itoa(id), 1)
			check.OK(t, a.env.Records.Put(t.Context(), key, tc.value(id)))
			if strings.Contains(key, "tg--100") {
				check.OK(t, a.env.Records.Put(t.Context(), "moved:-100", object{"to": 7}))
			}
			check.OK(t, a.Prepare(t.Context()))
			stop := run(t, a)
			if tc.want == "" {
				chat.AwaitGone(id)
			} else {
				chat.AwaitMessage("the final text", func(m fakeapi.Message) bool { return m.ID == id && m.Text == tc.want })
			}
			var rest any
			for found := true; found; {
				if found, err = a.env.Records.Get(t.Context(), key, &rest); found {
					select {
					case <-watched.written:
					case <-time.After(fakeapi.Patience):
						t.Fatal("the record stays")
					}
				}
				check.OK(t, err)
			}
			a.out.Say(t.Context(), "later", "tg-7", view.Note{Text: "later"})
			chat.AwaitText("later")
			stop()
			if m, found := chat.Message(id); m.Text != tc.want || found == (tc.want == "") {
				t.Errorf("the message is %q, want %q", m.Text, tc.want)
			}
		})
	}
}
