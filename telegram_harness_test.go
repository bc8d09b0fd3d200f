package main

import (
	"fmt"
	"testing"

	"bareclaw/adapters/telegram/telegramtest"
)

// newChat makes a machine whose daemons serve a bot, the Bot API server of that bot,
// and somebody who is listened to with a private chat. Sends are not slowed down.
func newChat(t testing.TB, settings ...string) (m *machine, api *telegramtest.Server, anna *telegramtest.User, chat *telegramtest.Chat) {
	t.Helper()
	return newChatWith(t, []telegramtest.Option{telegramtest.WithoutRates()}, settings...)
}

// newChatWith is newChat with a Bot API server of its own kind.
func newChatWith(t testing.TB, options []telegramtest.Option, settings ...string) (m *machine, api *telegramtest.Server, anna *telegramtest.User, chat *telegramtest.Chat) {
	t.Helper()
	api = telegramtest.New(t, options...)
	anna = api.User(7, "Anna", "Arden", "anna")
	m = newMachine(t, append(botSettings(api, anna), settings...)...)
	return m, api, anna, api.Private(anna)
}

// botSettings are those of a gateway that serves a bot and listens to one user.
func botSettings(api *telegramtest.Server, user *telegramtest.User) []string {
	return []string{
		"BARECLAW_TELEGRAM_TOKEN=" + api.Token(), "BARECLAW_TELEGRAM_API=" + api.URL(),
		fmt.Sprintf("BARECLAW_ALLOWED_USERS=%d", user.ID),
	}
}

// telegramHealth returns what GET /health says of Telegram.
func (g *gateway) telegramHealth() map[string]any {
	g.t.Helper()
	h, _ := g.must("GET", "/health", nil, 200).json["telegram"].(map[string]any)
	return h
}

// tapAnswer returns what was shown to who tapped.
func tapAnswer(t testing.TB, api *telegramtest.Server, tap telegramtest.Tap) string {
	t.Helper()
	var a telegramtest.Answer
	api.Await(t, "answer to the tap", func() (ok bool) {
		a, ok = tap.Answer()
		return ok
	})
	return a.Text
}

// delivered waits until nothing is left to be delivered. Before its first poll a daemon
// does not know what an earlier one has left.
func (g *gateway) delivered() {
	g.t.Helper()
	g.eventually("everything is delivered", func() bool {
		h := g.telegramHealth()
		return h["last_poll"] != nil && h["pending"] == 0.0
	})
}
