package telegram

import (
	"testing"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
)

// TestRecordsOfEarlierVersions holds that records of earlier versions keep their meaning: names,
// and the channels of groups that became supergroups.
func TestRecordsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	a, ctx := recording(t), t.Context()
	name := map[string]string{"name": "x"}
	moved := map[string]any{"to": -200, "done": true}
	err := a.env.Records.Write(ctx, env.Entry{Key: "bot", Value: name}, env.Entry{Key: "topic:tg--5-3", Value: name},
		env.Entry{Key: "moved:-100", Value: moved}, env.Entry{Key: "moved:-300", Value: map[string]int{"to": -400}})
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
