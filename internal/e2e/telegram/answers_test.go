package telegram

import (
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// TestTelegramOutcomes delivers what is no plain answer as well.
func TestTelegramOutcomes(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want []string
	}{
		"an error of the API": {text: "apierror 500", want: []string{"⚠️ API Error: 500 scripted error 500"}},
		"no login":            {text: "notloggedin", want: []string{"⚠️ This message was not answered: Claude is not logged in"}},
		"a crash":             {text: "die 3", want: []string{"⚠️ "}},
		"nothing said":        {text: "slow 1  ", want: []string{"w0 w1 w2 w3"}},
		"a background result": {text: "background 100 and this", want: []string{"final: Command running in background", "and this"}},
		"formatting":          {text: "echo a **bold** word", want: []string{"a bold word"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTalk(t)
			c.send(row.text)
			for _, want := range row.want {
				c.chat.AwaitMessage(want, fromBot(want))
			}
			if all := harness.Written(c.chat); len(all) != len(row.want) {
				t.Errorf("the chat has %v", all)
			}
			c.Balanced()
		})
	}
}

// TestTelegramLongAnswer sends an answer of many messages as a beginning and a file.
func TestTelegramLongAnswer(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t, "BARECLAW_TELEGRAM_FILE_OVER=2")
	c.send("big 8000")
	c.chat.AwaitMessage("two parts", func(botapi.Message) bool { return len(harness.Texts(c.chat)) == 2 })
	if got := strings.Join(harness.Texts(c.chat), ""); got != strings.Repeat("x", 8000) {
		t.Errorf("of 8000 bytes %d came", len(got))
	}
	c.send("big 9000")
	file := c.chat.AwaitMessage("a file", func(now botapi.Message) bool { return now.Media != nil })
	if file.Media.Name != "answer.md" || string(file.Media.Data) != strings.Repeat("x", 9000) {
		t.Errorf("the file is %s of %d bytes", file.Media.Name, len(file.Media.Data))
	}
	if all := harness.Written(c.chat); len(all) != 4 || len(all[2].Text) < 4000 {
		t.Errorf("the chat has %d messages", len(all))
	}
}

// TestTelegramCoalesced answers messages that waited together once in each place that
// they came from.
func TestTelegramCoalesced(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]string{
		"telegram twice": {"chat", "chat"}, "telegram, then HTTP": {"chat", "http"}, "HTTP, then telegram": {"http", "chat"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTalk(t)
			_, finish := c.Occupy("tg-7")
			var asked *harness.Held
			for i, from := range order {
				text := fmt.Sprintf("part %d", i)
				if from == "chat" {
					c.send(text)
				} else {
					asked = c.Hold(harness.Obj{"channel": "tg-7", "text": text})
				}
				c.Eventually("it waits, on record", func() bool {
					return len(c.Must("GET", "/channels/tg-7/messages", nil, 200).Array("messages")) == i+2 && c.Channel("tg-7").Number("waiting") == float64(i+1)
				})
			}
			finish()
			c.chat.AwaitMessage("the answer", func(now botapi.Message) bool {
				return strings.Contains(now.Text, "part 0") && strings.Contains(now.Text, "part 1") && now.FromBot
			})
			if asked != nil {
				if a := asked.Answer(200); !strings.Contains(a.Str("text"), "part 1") {
					t.Errorf("HTTP was answered %s", a.Body)
				}
			}
			c.ask("echo after", "after")
			if got := harness.Texts(c.chat); len(got) != 2 {
				t.Errorf("the chat has %q", got)
			}
			c.Balanced()
		})
	}
}

// deliveries returns the deliveries that the trace of the newest message of a channel shows.
func deliveries(g *harness.Gateway, channel string) []harness.Answer {
	g.T.Helper()
	list := g.Must("GET", "/channels/"+harness.Escaped(channel)+"/messages?limit=1", nil, 200).Array("messages")
	if len(list) != 1 {
		g.T.Fatalf("%d messages on %s", len(list), channel)
	}
	return g.Must("GET", "/messages/"+list[0].Str("message_id")+"/trace", nil, 200).Array("deliveries")
}

// TestTelegramRefused records what cannot be delivered, and goes on with the rest.
func TestTelegramRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*botapi.Chat){
		"blocked": (*botapi.Chat).Block,
		"deleted": (*botapi.Chat).Delete,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := harness.NewChatWith(t, nil)
			bob := api.Supergroup(-1001, "Team", anna)
			g := m.Start()
			chat.Send(anna, "wait "+m.Path("go"))
			m.Eventually("it runs", func() bool { return m.Begun("wait") == 1 })
			spoil(chat)
			m.Touch("go")
			g.Eventually("it is recorded that it failed", func() bool {
				ds := deliveries(g, "tg-7")
				return len(ds) == 1 && ds[0].Str("state") == "failed" && ds[0].Number("attempts") == 1 && ds[0].Str("ended_at") != "" &&
					strings.Contains(ds[0].Str("error"), map[string]string{"blocked": "blocked by the user", "deleted": "chat not found"}[name])
			})
			bob.Send(anna, "echo other")
			bob.AwaitText("other")
			g.Eventually("the other answer is recorded as sent", func() bool {
				ds := deliveries(g, "tg--1001")
				return len(ds) == 1 && ds[0].Str("state") == "sent"
			})
			g.Balanced()
		})
	}
}

// TestTelegramTopicGone answers in the chat itself what its topic cannot take.
func TestTelegramTopicGone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*botapi.Chat, *botapi.User, int){
		"deleted": func(c *botapi.Chat, _ *botapi.User, topic int) { c.DeleteTopic(topic) },
		"closed":  (*botapi.Chat).CloseTopic,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, _ := harness.NewChatWith(t, nil)
			forum := api.Forum(-1001, "Forum", anna)
			topic := forum.CreateTopic(anna, "news")
			m.Start()
			forum.Send(anna, "wait "+m.Path("go"), botapi.InTopic(topic))
			m.Eventually("it runs", func() bool { return m.Begun("wait") == 1 })
			spoil(forum, anna, topic)
			m.Touch("go")
			if a := forum.AwaitText("waited for "); a.Thread != 0 {
				t.Errorf("the answer is in topic %d", a.Thread)
			}
		})
	}
}

// TestTelegramMigrated sends the answer to where a group has gone meanwhile.
func TestTelegramMigrated(t *testing.T) {
	t.Parallel()
	m, api, anna, _ := harness.NewChatWith(t, nil)
	group := api.Group(-55, "Team", anna)
	m.Start()
	group.Send(anna, "wait "+m.Path("go"))
	m.Eventually("it runs", func() bool { return m.Begun("wait") == 1 })
	poll := api.Hold("getUpdates", 0)
	bigger := group.Migrate(anna, -1001)
	m.Touch("go")
	bigger.AwaitText("waited for ")
	poll.Release()
}
