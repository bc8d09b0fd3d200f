package e2e

import (
	"fmt"
	"testing"

	"bareclaw/internal/testkit/botapi"
)

// newChat makes a machine whose daemons serve a bot, the Bot API server of that bot,
// and somebody who is listened to with a private chat. Sends are not slowed down.
func newChat(t testing.TB, settings ...string) (m *machine, api *botapi.Server, anna *botapi.User, chat *botapi.Chat) {
	t.Helper()
	return newChatWith(t, []botapi.Option{botapi.WithoutRates()}, settings...)
}

// newChatWith is newChat with a Bot API server of its own kind.
func newChatWith(t testing.TB, options []botapi.Option, settings ...string) (m *machine, api *botapi.Server, anna *botapi.User, chat *botapi.Chat) {
	t.Helper()
	api = botapi.New(t, options...)
	anna = api.User(7, "Anna", "Arden", "anna")
	m = newMachine(t, append(botSettings(api, anna), settings...)...)
	return m, api, anna, api.Private(anna)
}

// botSettings are those of a gateway that serves a bot and listens to one user.
func botSettings(api *botapi.Server, user *botapi.User) []string {
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
func tapAnswer(t testing.TB, api *botapi.Server, tap botapi.Tap) string {
	t.Helper()
	var a botapi.Answer
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
