package telegram

import (
	"fmt"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// A talk is Anna's conversation with the bot of a running gateway.
type talk struct {
	*harness.Gateway
	api  *botapi.Server
	anna *botapi.User
	chat *botapi.Chat
}

// newTalk starts a gateway on a Bot API server with limits of rates.
func newTalk(t *testing.T, settings ...string) *talk {
	t.Helper()
	m, api, anna, chat := harness.NewChatWith(t, nil, settings...)
	return &talk{m.Start(), api, anna, chat}
}

// newQuickTalk is newTalk without limits of rates.
func newQuickTalk(t *testing.T, settings ...string) *talk {
	t.Helper()
	m, api, anna, chat := harness.NewChat(t, settings...)
	return &talk{m.Start(), api, anna, chat}
}

// in is the same gateway in another chat.
func (c *talk) in(chat *botapi.Chat) *talk { return &talk{c.Gateway, c.api, c.anna, chat} }

func (c *talk) key() string { return channelOf(c.chat) }

// again kills the daemon and starts another one.
func (c *talk) again() {
	c.Kill()
	c.Gateway = c.Machine.Start()
}

func (c *talk) send(text string, opts ...botapi.SendOption) botapi.Sent {
	return c.chat.Send(c.anna, text, opts...)
}

// says waits for a message of the bot with all of the texts.
func (c *talk) says(texts ...string) botapi.Message { return c.chat.AwaitText(texts...) }

// ask sends a text, and waits for a later message of the bot with all of the texts.
func (c *talk) ask(text string, texts ...string) botapi.Message {
	sent := c.send(text)
	return c.chat.AwaitMessage(fmt.Sprintf("answer to %s with %q", text, texts), func(m botapi.Message) bool {
		return m.FromBot && m.ID > sent.MessageID && harness.ContainsAll(m.Text, texts)
	})
}

// asks waits for a message of the bot with a button.
func (c *talk) asks(button string, texts ...string) botapi.Message {
	return harness.Asks(c.chat, button, texts...)
}

// tap taps a button, and waits for an answer with all of the texts.
func (c *talk) tap(m botapi.Message, button string, texts ...string) string {
	c.T.Helper()
	return told(c.T, c.api, c.chat.Tap(c.anna, m.ID, button), texts...)
}

// tapData is tap for the data of a button that need not be there any more.
func (c *talk) tapData(m botapi.Message, data string, texts ...string) string {
	c.T.Helper()
	return told(c.T, c.api, c.chat.TapStale(c.anna, m.ID, data), texts...)
}

// becomes waits until a message has all of the texts.
func (c *talk) becomes(m botapi.Message, texts ...string) botapi.Message {
	c.T.Helper()
	return harness.Becomes(c.T, c.api, c.chat, m.ID, texts...)
}

// settles waits until a message has all of the texts, and no buttons.
func (c *talk) settles(m botapi.Message, texts ...string) {
	c.T.Helper()
	harness.Settled(c.T, c.api, c.chat, m.ID, texts...)
}

// works sends a message that keeps the agent busy.
func (c *talk) works(text string) botapi.Sent {
	c.T.Helper()
	sent := c.send(text)
	c.Eventually(text+" runs", func() bool { return c.Begun(text) > 0 })
	return sent
}

// waits sends a message that becomes the nth in the queue.
func (c *talk) waits(n int, text string) botapi.Sent {
	c.T.Helper()
	sent := c.send(text)
	c.Queued(c.key(), n)
	return sent
}

// ends fails unless the chat has so many messages besides statuses, and every accepted
// message an outcome.
func (c *talk) ends(messages int) {
	c.T.Helper()
	settled(c.Machine, c.api, c.chat)
	if got := harness.Texts(c.chat); len(got) != messages {
		c.T.Errorf("the chat has %q, want %d messages", got, messages)
	}
	c.Balanced()
}

// answers waits for a message of the bot with exactly that text.
func answers(chat *botapi.Chat, text string) botapi.Message {
	return chat.AwaitMessage("answer "+text, func(m botapi.Message) bool { return m.FromBot && m.Text == text })
}

// told waits for what a tap is answered with.
func told(t testing.TB, api *botapi.Server, tap botapi.Tap, parts ...string) string {
	t.Helper()
	text := ""
	api.Await(t, "answer to a tap", func() (ok bool) { text, ok = tap.Answer(); return ok })
	if !harness.ContainsAll(text, parts) {
		t.Errorf("the tap is answered with %q, want %q in it", text, parts)
	}
	return text
}

// hangUp restarts the gateway by SIGHUP, and waits for a daemon of a later generation.
func hangUp(g *harness.Gateway, generation float64) {
	g.T.Helper()
	if err := g.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		g.T.Fatal(err)
	}
	g.Restarted(generation)
}

func channelOf(c *botapi.Chat) string { return fmt.Sprintf("tg-%d", c.ID()) }
