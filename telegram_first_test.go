package main

import (
	"strings"
	"testing"

	"bareclaw/adapters/telegram/telegramtest"
)

func TestTelegramFirst(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	anna := s.User(7, "Anna", "Arden", "anna")
	chat := s.Private(anna)
	m := newMachine(t, "BARECLAW_TELEGRAM_TOKEN="+s.Token(), "BARECLAW_TELEGRAM_API="+s.URL(), "BARECLAW_ALLOWED_USERS=7")
	m.start()
	chat.Send(anna, "hello")
	chat.AwaitText("ok: hello")
	chat.Send(anna, "tool 4000 make\nx")
	chat.AwaitMessage("a status line", func(m telegramtest.Message) bool { return m.FromBot && len(m.Buttons) > 0 })
	chat.AwaitMessage("final", func(m telegramtest.Message) bool { return m.FromBot && strings.HasPrefix(m.Text, "final") })
	chat.Send(anna, "slow 4000 one two three four five six")
	chat.AwaitText("one two three four five six")
	g := s.Supergroup(-100200, "Team", anna)
	g.Send(anna, "slow 9000 "+strings.Repeat("one two three four five six ", 30))
	g.AwaitMessage("answer", func(m telegramtest.Message) bool { return m.FromBot && len(m.Text) > 700 })
	t.Log(s.Dump())
}
