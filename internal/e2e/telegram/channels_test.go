package telegram

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// TestTelegramContext holds what the agent is told of where a message comes from.
func TestTelegramContext(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	bob := api.User(8, "Bob", "", "bob")
	group := api.Group(-200, "Team", anna, bob)
	forum := api.Forum(-1000300, "Club", anna, bob)
	expect := func(c *botapi.Chat, key, rest string) {
		t.Helper()
		c.AwaitText("[channel: " + key + ", adapter: telegram, user: Anna Arden" + rest + "]")
	}
	group.Send(anna, "@fake_bot prompt")
	expect(group, "tg--200", ", chat: Team")

	theirs := forum.CreateTopic(bob, "Their topic") // before anybody who is listened to has spoken there
	forum.Send(anna, "prompt")
	expect(forum, "tg--1000300", ", chat: Club")
	forum.Send(anna, "prompt", botapi.InTopic(theirs))
	g.Eventually("the topic's turn", func() bool { return m.Begun(fmt.Sprintf("[channel: tg--1000300-%d,", theirs)) == 1 })
	ours := forum.CreateTopic(bob, "Our topic")
	forum.Send(anna, "prompt", botapi.InTopic(ours))
	expect(forum, fmt.Sprintf("tg--1000300-%d", ours), ", chat: Club, topic: Our topic")

	mine := chat.CreateTopic(anna, "My topic")
	chat.Send(anna, "prompt", botapi.InTopic(mine))
	expect(chat, fmt.Sprintf("tg-7-%d", mine), ", topic: My topic")
	for _, msg := range chat.FromBot() {
		if msg.Thread != mine {
			t.Errorf("the answer is in topic %d, want %d", msg.Thread, mine)
		}
	}

	before := m.Begun("")
	group.Send(anna, "/start@other_bot")
	group.Send(anna, "echo last")
	group.AwaitText("last")
	if n := m.Begun(""); n != before+1 {
		t.Errorf("%d turns were begun, want one: a command of another bot is not ours", n-before)
	}

	g.Delivered() // or it is said again
	g.Kill()
	m.Start()
	forum.Send(anna, "prompt", botapi.InTopic(ours))
	forum.AwaitMessage("a second answer with the name", func(msg botapi.Message) bool {
		return msg.FromBot && strings.Contains(msg.Text, "topic: Our topic") && harness.CountText(forum, "topic: Our topic") == 2
	})
}

// TestTelegramChatsAreIndependent holds that a long turn of one chat delays no other.
func TestTelegramChatsAreIndependent(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	group := c.api.Group(-200, "Team", c.anna)
	c.send("wait " + c.Path("go"))
	c.Eventually("the turn runs", func() bool { return c.Begun("wait ") == 1 })
	begun := time.Now()
	group.Send(c.anna, "echo meanwhile")
	group.AwaitText("meanwhile")
	t.Logf("answered after %v", time.Since(begun))
	c.Touch("go")
	c.chat.AwaitText("waited for")
}

// TestTelegramEdits edits a message that waits, one that runs, and one that was
// answered.
func TestTelegramEdits(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	running := c.send("wait " + c.Path("never"))
	c.Eventually("the turn runs", func() bool { return c.Begun("wait ") == 1 })
	waiting := c.send("echo wrogn")
	c.Queued("tg-7", 1)
	c.chat.Edit(c.anna, waiting.MessageID, "echo right")
	c.chat.Edit(c.anna, running.MessageID, "wait "+c.Path("never")) // such as by the preview of a link
	c.chat.Edit(c.anna, running.MessageID, "echo better")
	offer := c.chat.AwaitText("is being handled")
	if offer.ReplyTo != running.MessageID {
		t.Errorf("it replies to %d, not to the message %d", offer.ReplyTo, running.MessageID)
	}
	c.Delivered()
	c.again()
	c.tap(offer, "Stop and run the edited message", "edited message is next")
	c.tap(offer, "Stop and run the edited message", "already accepted")
	c.Eventually("all is answered", func() bool { return c.Metrics()["bareclaw_messages_waiting"] == 0 })
	if n := c.Begun("wrogn"); n != 0 {
		t.Errorf("what was edited away was read in %d turns", n)
	}
	if c.Begun("echo right") != 1 || c.Begun("echo better") != 1 {
		t.Errorf("the edited messages were begun %d and %d times", c.Begun("echo right"), c.Begun("echo better"))
	}

	late := c.send("echo done")
	c.says("done")
	c.Balanced()
	c.chat.Edit(c.anna, late.MessageID, "echo done anew")
	offer = c.chat.AwaitText("already been handled")
	c.chat.Tap(c.anna, offer.ID, "Run the edited message")
	c.chat.AwaitText("done anew")
	if n := harness.CountText(c.chat, "came too late"); n != 2 {
		t.Errorf("%d edits were told to be late, want 2", n)
	}
	c.Balanced()
}

// TestTelegramGroupBecomesASupergroup holds that the conversation and what waits go on
// in the new chat, also if the daemon is killed in between.
func TestTelegramGroupBecomesASupergroup(t *testing.T) {
	t.Parallel()
	m, api, anna, _ := harness.NewChat(t)
	bob := api.User(8, "Bob", "", "bob") // is not listened to, and does it
	g := m.Start()
	group := api.Group(-200, "Team", anna, bob)
	group.Send(anna, "session")
	api.Await(t, "the session", func() bool { return len(harness.Texts(group)) == 1 })
	session := harness.Texts(group)[0]
	g.Delivered()
	group.Send(anna, "wait "+m.Path("go"))
	m.Eventually("the turn runs", func() bool { return m.Begun("wait ") == 1 })
	group.Send(anna, "echo waits")
	g.Queued("tg--200", 1)
	club := group.Migrate(bob, -1000200)
	g.Eventually("the move is begun", func() bool { return len(api.Pending()) == 0 })
	g.Kill()
	g = m.Start()
	club.Send(anna, "session")
	m.Touch("go")
	g.Eventually("what waited is read", func() bool { return m.Begun("echo waits") == 1 })
	club.Send(anna, "session")
	club.AwaitText(session)
	g.Eventually("all is answered", func() bool { return g.Metrics()["bareclaw_messages_waiting"] == 0 })
	if m.Begun("echo waits") != 1 || m.Begun("wait ") != 1 {
		t.Errorf("turns were begun again: %d, %d", m.Begun("echo waits"), m.Begun("wait "))
	}
	g.Balanced()
}

// TestTelegramStatusMovesToTheSupergroup shows a running turn in the supergroup, and in
// the old group nothing any more.
func TestTelegramStatusMovesToTheSupergroup(t *testing.T) {
	t.Parallel()
	m, api, anna, _ := harness.NewChat(t)
	m.Start()
	group := api.Group(-200, "Team", anna)
	group.Send(anna, "wait "+m.Path("go"))
	group.AwaitMessage("a status", stoppable)
	club := group.Migrate(anna, -1000200)
	club.AwaitMessage("a status", stoppable)
	typed := func(chat *botapi.Chat) (n int) {
		for _, c := range api.Calls("sendChatAction") {
			if c.Chat == chat.ID() {
				n++
			}
		}
		return n
	}
	before, here := typed(group), typed(club)
	api.Await(t, "typing goes on", func() bool { return typed(club) > here })
	if n := typed(group); n != before {
		t.Errorf("in the group that is gone somebody seems to type: %d times, and then %d times", before, n)
	}
	m.Touch("go")
	club.AwaitText("waited for ")
	settled(m, api, club)
}
