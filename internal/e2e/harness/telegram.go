package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

// Asks waits for a message of the bot with all of the texts, below which somebody can
// tap the button.
func Asks(chat *botapi.Chat, button string, texts ...string) botapi.Message {
	return chat.AwaitMessage(fmt.Sprintf("%q with a button %s", texts, button), func(m botapi.Message) bool {
		_, ok := m.Button(button)
		return m.FromBot && ok && ContainsAll(m.Text, texts)
	})
}

// Settled waits until a message has the texts and no buttons.
func Settled(t testing.TB, api *botapi.Server, chat *botapi.Chat, id int, texts ...string) botapi.Message {
	t.Helper()
	m := Becomes(t, api, chat, id, texts...)
	if len(m.Buttons) != 0 {
		t.Errorf("it has buttons still: %v", m.Buttons)
	}
	return m
}

// CountText returns how many messages of the bot have the text.
func CountText(c *botapi.Chat, text string) int {
	n := 0
	for _, m := range c.FromBot() {
		if strings.Contains(m.Text, text) {
			n++
		}
	}
	return n
}

// ContainsAll reports whether a text has all parts.
func ContainsAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// Becomes waits until a message has all of the texts.
func Becomes(t testing.TB, api *botapi.Server, chat *botapi.Chat, id int, texts ...string) botapi.Message {
	t.Helper()
	var m botapi.Message
	api.Await(t, fmt.Sprintf("message %d with %q", id, texts), func() bool {
		m, _ = chat.Message(id)
		return ContainsAll(m.Text, texts)
	})
	return m
}

// NewChat makes a machine whose daemons serve a bot, the Bot API server of that bot,
// and somebody who is listened to with a private chat. Sends are not slowed down.
func NewChat(t testing.TB, settings ...string) (m *Machine, api *botapi.Server, anna *botapi.User, chat *botapi.Chat) {
	t.Helper()
	return NewChatWith(t, []botapi.Option{botapi.WithoutRates()}, settings...)
}

// NewChatWith is NewChat with options for the Bot API server.
func NewChatWith(t testing.TB, options []botapi.Option, settings ...string) (m *Machine, api *botapi.Server, anna *botapi.User, chat *botapi.Chat) {
	t.Helper()
	api = botapi.New(t, options...)
	anna = api.User(7, "Anna", "Arden", "anna")
	m = NewMachine(t, append(BotSettings(api, anna), settings...)...)
	return m, api, anna, api.Private(anna)
}

// BotSettings are those of a gateway that serves a bot and listens to one user.
func BotSettings(api *botapi.Server, user *botapi.User) []string {
	return []string{
		"BARECLAW_TELEGRAM_TOKEN=" + api.Token(), "BARECLAW_TELEGRAM_API=" + api.URL(),
		fmt.Sprintf("BARECLAW_ALLOWED_USERS=%d", user.ID),
	}
}

// TelegramHealth returns what GET /health says of Telegram.
func (g *Gateway) TelegramHealth() map[string]any {
	g.T.Helper()
	h, _ := g.Must("GET", "/health", nil, 200).JSON["telegram"].(map[string]any)
	return h
}

// Delivered waits until nothing is left to be delivered. Before its first poll a daemon
// does not know what an earlier one has left.
func (g *Gateway) Delivered() {
	g.T.Helper()
	g.Eventually("everything is delivered", func() bool {
		h := g.TelegramHealth()
		return h["last_poll"] != nil && h["pending"] == 0.0
	})
}

// SomePicture is a small PNG.
func SomePicture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 3))))
	return b.Bytes()
}

// isStatus reports whether a message is the status or the summary of a turn. On a busy machine
// any turn may take long enough to have a status.
func isStatus(m botapi.Message) bool {
	if len(m.Entities) == 0 {
		return false
	}
	last := m.Entities[len(m.Entities)-1]
	return last.Type == "italic" && last.Offset+last.Length == len(utf16.Encode([]rune(m.Text)))
}

// Written are the messages of the bot that are still there, without statuses.
func Written(chat *botapi.Chat) []botapi.Message {
	return slices.DeleteFunc(chat.FromBot(), isStatus)
}

// Texts are their texts.
func Texts(chat *botapi.Chat) []string {
	var all []string
	for _, m := range Written(chat) {
		all = append(all, m.Text)
	}
	return all
}

// Calling is a message by which the fake agent calls a tool that asks first.
func Calling(t testing.TB, tool string, input Obj) string {
	t.Helper()
	b, err := json.Marshal(input)
	check.OK(t, err)
	return "call " + tool + " " + string(b)
}

// Option is an answer to choose.
func Option(label, description string) Obj { return Obj{"label": label, "description": description} }

// Colours is a question with one answer.
func Colours() Obj {
	return Obj{"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []Obj{Option("Red", "warm *and* loud"), Option("Blue", "cold")}}
}

// Toppings is a question with several answers.
func Toppings() Obj {
	return Obj{"question": "Which toppings?", "header": "Toppings", "multiSelect": true,
		"options": []Obj{Option("Cheese", ""), Option("Ham", "smoked"), Option("Olives", "")}}
}

// AwaitTelegram waits until GET /health says that the bot is well, or that its
// problem has the words.
func (g *Gateway) AwaitTelegram(problem string) {
	g.T.Helper()
	g.Eventually("health says of Telegram: "+problem, func() bool {
		h := g.TelegramHealth()
		said, _ := h["problem"].(string)
		return h["ready"] == (problem == "") && strings.Contains(said, problem)
	})
}
