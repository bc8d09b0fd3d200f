package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

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
		"no login":            {text: "notloggedin", want: []string{"Claude is not logged in: log in again on the gateway's machine, with claude or claude setup-token. What waits"}},
		"a crash":             {text: "die 3", want: []string{"⚠️ "}},
		"nothing said":        {text: "slow 1  ", want: []string{"w0 w1 w2 w3"}},
		"a background result": {text: "background 100 and this", want: []string{"final: Command running in background", "and this"}},
		"formatting":          {text: "echo a **bold** word", want: []string{"a bold word"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _, anna, chat := newChatWith(t, nil)
			g := m.start()
			chat.Send(anna, row.text)
			for _, want := range row.want {
				chat.AwaitMessage(want, fromBot(want))
			}
			if all := written(chat); len(all) != len(row.want) {
				t.Errorf("the chat has %v", all)
			}
			g.balanced()
		})
	}
}

// TestTelegramLongAnswer sends an answer of many messages as a beginning and a file.
func TestTelegramLongAnswer(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := newChat(t, "BARECLAW_TELEGRAM_FILE_OVER=2")
	m.start()
	chat.Send(anna, "big 8000")
	chat.AwaitMessage("two parts", func(botapi.Message) bool { return len(texts(chat)) == 2 })
	if got := strings.Join(texts(chat), ""); got != strings.Repeat("x", 8000) {
		t.Errorf("of 8000 bytes %d came", len(got))
	}
	chat.Send(anna, "big 9000")
	file := chat.AwaitMessage("a file", func(now botapi.Message) bool { return now.Media != nil })
	if file.Media.Name != "answer.md" || string(file.Media.Data) != strings.Repeat("x", 9000) {
		t.Errorf("the file is %s of %d bytes", file.Media.Name, len(file.Media.Data))
	}
	if all := written(chat); len(all) != 4 || len(all[2].Text) < 4000 {
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
			m, _, anna, chat := newChatWith(t, nil)
			g := m.start()
			_, finish := g.occupy("tg-7")
			var asked *held
			for i, from := range order {
				text := fmt.Sprintf("part %d", i)
				if from == "chat" {
					chat.Send(anna, text)
				} else {
					asked = g.hold(obj{"channel": "tg-7", "text": text})
				}
				g.eventually("it waits, on record", func() bool {
					return len(g.must("GET", "/channels/tg-7/messages", nil, 200).array("messages")) == i+2 && g.channel("tg-7").number("waiting") == float64(i+1)
				})
			}
			finish()
			chat.AwaitMessage("the answer", func(now botapi.Message) bool {
				return strings.Contains(now.Text, "part 0") && strings.Contains(now.Text, "part 1") && now.FromBot
			})
			if asked != nil {
				if a := asked.answer(200); !strings.Contains(a.str("text"), "part 1") {
					t.Errorf("HTTP was answered %s", a.body)
				}
			}
			chat.Send(anna, "echo after")
			chat.AwaitText("after")
			if got := texts(chat); len(got) != 2 {
				t.Errorf("the chat has %q", got)
			}
			g.balanced()
		})
	}
}

// TestTelegramManyChats has many chats talk at once: each message is answered once, in
// order, within the limits.
func TestTelegramManyChats(t *testing.T) {
	t.Parallel()
	const chats, each = 100, 3
	api := botapi.New(t)
	people, all, ids := make([]*botapi.User, chats), make([]*botapi.Chat, chats), make([]string, chats)
	for i := range chats {
		ids[i] = strconv.Itoa(1000 + i)
		people[i] = api.User(int64(1000+i), "User "+ids[i], "", "")
		all[i] = api.Private(people[i])
	}
	m := newMachine(t, append(botSettings(api, people[0]), "BARECLAW_ALLOWED_USERS="+strings.Join(ids, ","), "BARECLAW_MAX_SESSIONS=8")...)
	g := m.start()
	for n := range each {
		for i := range chats {
			all[i].Send(people[i], fmt.Sprintf("%c of %d.", 'a'+n, i))
		}
	}
	for i, chat := range all {
		chat.AwaitMessage("the last answer", func(now botapi.Message) bool {
			return now.FromBot && strings.Contains(now.Text, fmt.Sprintf("c of %d.", i))
		})
		var answers []string
		for _, now := range chat.FromBot() {
			if now.Entities == nil { // no status
				answers = append(answers, now.Text)
			}
		}
		want := fmt.Sprintf("a of %d.b of %d.c of %d.", i, i, i)
		if got := strings.NewReplacer("ok: ", "", "\n", "").Replace(strings.Join(answers, "")); got != want {
			t.Errorf("chat %d has the answers %q", i, answers)
		}
	}
	g.balanced()
	if n := api.RateViolations(); n != 0 {
		t.Errorf("%d calls came before they were allowed", n)
	}
}

// deliveries returns the deliveries that the trace of the newest message of a channel shows.
func (g *gateway) deliveries(channel string) []answer {
	g.t.Helper()
	list := g.must("GET", "/channels/"+escaped(channel)+"/messages?limit=1", nil, 200).array("messages")
	if len(list) != 1 {
		g.t.Fatalf("%d messages on %s", len(list), channel)
	}
	return g.must("GET", "/messages/"+list[0].str("message_id")+"/trace", nil, 200).array("deliveries")
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
			m, api, anna, chat := newChatWith(t, nil)
			bob := api.Supergroup(-1001, "Team", anna)
			g := m.start()
			chat.Send(anna, "wait "+m.path("go"))
			m.eventually("it runs", func() bool { return m.begun("wait") == 1 })
			spoil(chat)
			m.touch("go")
			g.eventually("it is recorded that it failed", func() bool {
				ds := g.deliveries("tg-7")
				return len(ds) == 1 && ds[0].str("state") == "failed" && ds[0].number("attempts") == 1 && ds[0].str("ended_at") != "" &&
					strings.Contains(ds[0].str("error"), map[string]string{"blocked": "blocked by the user", "deleted": "chat not found"}[name])
			})
			bob.Send(anna, "echo other")
			bob.AwaitText("other")
			g.eventually("the other answer is recorded as sent", func() bool {
				ds := g.deliveries("tg--1001")
				return len(ds) == 1 && ds[0].str("state") == "sent"
			})
			g.balanced()
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
			m, api, anna, _ := newChatWith(t, nil)
			forum := api.Forum(-1001, "Forum", anna)
			topic := forum.CreateTopic(anna, "news")
			m.start()
			forum.Send(anna, "wait "+m.path("go"), botapi.InTopic(topic))
			m.eventually("it runs", func() bool { return m.begun("wait") == 1 })
			spoil(forum, anna, topic)
			m.touch("go")
			if a := forum.AwaitText("waited for "); a.Thread != 0 {
				t.Errorf("the answer is in topic %d", a.Thread)
			}
		})
	}
}

// TestTelegramMigrated sends the answer to where a group has gone meanwhile.
func TestTelegramMigrated(t *testing.T) {
	t.Parallel()
	m, api, anna, _ := newChatWith(t, nil)
	group := api.Group(-55, "Team", anna)
	m.start()
	group.Send(anna, "wait "+m.path("go"))
	m.eventually("it runs", func() bool { return m.begun("wait") == 1 })
	poll := api.Hold("getUpdates", 0)
	bigger := group.Migrate(anna, -1001)
	m.touch("go")
	bigger.AwaitText("waited for ")
	poll.Release()
}
