package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/testkit/botapi"
)

// asks waits for a message of the bot with all of the texts, below which somebody can
// tap the button.
func asks(chat *botapi.Chat, button string, texts ...string) botapi.Message {
	return chat.AwaitMessage(fmt.Sprintf("%q with a button %s", texts, button), func(m botapi.Message) bool {
		_, ok := m.Button(button)
		return m.FromBot && ok && containsAll(m.Text, texts)
	})
}

// settled waits until a message has the texts and no buttons.
func settled(t testing.TB, api *botapi.Server, chat *botapi.Chat, id int, texts ...string) botapi.Message {
	t.Helper()
	m := becomes(t, api, chat, id, texts...)
	if len(m.Buttons) != 0 {
		t.Errorf("it has buttons still: %v", m.Buttons)
	}
	return m
}

// recorded waits until it is on record that everything was sent that the chat shows:
// what follows is sent after that.
func recorded(by *botapi.User, chat *botapi.Chat) {
	sent := chat.Send(by, "/usage")
	chat.AwaitMessage("answer to /usage", func(m botapi.Message) bool { return m.ReplyTo == sent.MessageID })
}

func TestTelegramPermission(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		button string
		told   string
		closed string
		text   string
	}{
		"allow":  {"Allow", "Allowed by Anna Arden", "Allowed by Anna Arden", "final: ran: ask rm"},
		"deny":   {"Deny", "Denied by Anna Arden", "Denied by Anna Arden", "final: The user denied permission for Bash."},
		"always": {"Always Bash(ask *)", "always allowed here", "Allowed by Anna Arden", "final: ran: ask rm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := newChat(t)
			g := m.start()
			chat.Send(anna, "tool 0 ask rm")
			q := asks(chat, row.button, "Claude asks to use Bash", "ask rm", "Reply with a text to deny")
			b, _ := q.Button(row.button)
			told(t, api, chat.Tap(anna, q.ID, row.button), row.told)
			settled(t, api, chat, q.ID, row.closed, "ask rm")
			answers(chat, row.text)
			told(t, api, chat.TapStale(anna, q.ID, b.Data), "Too late: "+row.closed, "at ")
			g.asked(0)
			g.balanced()
		})
	}
}

// “Always” writes a rule, which the next session is launched with and which can be
// taken back.
func TestTelegramAlwaysAndRules(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	g := m.start()
	chat.Send(anna, "/rules")
	says(chat, "Nothing is always allowed")
	chat.Send(anna, "tool 0 ask one")
	q := asks(chat, "Always Bash(ask *)")
	chat.Tap(anna, q.ID, "Always Bash(ask *)")
	answers(chat, "final: ran: ask one")
	chat.Send(anna, "/new")
	says(chat, "Forgotten")
	chat.Send(anna, "args")
	says(chat, `Bash(ask *)`, "--allowedTools")
	chat.Send(anna, "/rules")
	list := says(chat, "1. Bash(ask *) by Anna Arden")
	button := list.Buttons[0][0]
	told(t, api, chat.Tap(anna, list.ID, button.Text), "Removed")
	becomes(t, api, chat, list.ID, "Nothing is always allowed")
	told(t, api, chat.TapStale(anna, list.ID, button.Data), "removed already")
	chat.Send(anna, "args")
	chat.AwaitMessage("arguments without the rule", func(m botapi.Message) bool {
		return m.FromBot && m.ID > list.ID && strings.HasPrefix(m.Text, "[") && !strings.Contains(m.Text, "Bash(ask")
	})
	g.balanced()
}

func TestTelegramPermissionByReply(t *testing.T) {
	t.Parallel()
	for text, row := range map[string]struct{ note, closed, text string }{
		"Yes.":          {"Allowed by Anna Arden", "Allowed by Anna Arden", "final: ran: ask ls"},
		"no":            {"Denied by Anna Arden", "Denied by Anna Arden", "final: The user denied permission for Bash."},
		"use *find* it": {"Claude is told so.", "Denied by Anna Arden: use *find* it", "final: use find it"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := newChat(t)
			g := m.start()
			chat.Send(anna, "tool 0 ask ls")
			q := asks(chat, "Deny")
			chat.Send(anna, text, botapi.ReplyingTo(q.ID))
			says(chat, row.note)
			settled(t, api, chat, q.ID, row.closed)
			answers(chat, row.text)
			if n := g.balanced(); n != 1 {
				t.Errorf("%d messages were accepted, want 1: the reply is none", n)
			}
			chat.Send(anna, "echo now a message", botapi.ReplyingTo(q.ID))
			g.eventually("the next reply is a message", func() bool { return g.balanced() == 2 })
		})
	}
}

// Whoever is told of a decision late is told the truth, whoever made it and wherever.
func TestTelegramPermissionDecidedElsewhere(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	g := m.start()
	chat.Send(anna, "tool 0 ask one")
	q := asks(chat, "Allow")
	g.must("POST", "/approvals/"+g.asked(1)[0].str("id"), obj{"behavior": "allow"}, 200)
	settled(t, api, chat, q.ID, "Allowed")
	answers(chat, "final: ran: ask one")

	chat.Send(anna, "tool 0 ask two")
	q = asks(chat, "Allow", "ask two")
	b, _ := q.Button("Allow")
	chat.Send(anna, "/stop")
	settled(t, api, chat, q.ID, "The turn ended before it was answered")
	told(t, api, chat.TapStale(anna, q.ID, b.Data), "Too late", "The turn ended")
	if m.did("tool", "ask two") {
		t.Error("the tool ran")
	}
	told(t, api, chat.TapStale(anna, q.ID, "ok:no-such-approval"), "not known any more")
	told(t, api, chat.TapStale(anna, q.ID, "nonsense"), "not known any more")
	g.balanced()
}

func TestTelegramPermissionExpires(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t, "BARECLAW_APPROVAL_TIMEOUT=1s")
	g := m.start()
	chat.Send(anna, "tool 0 ask one")
	q := chat.AwaitMessage("question", func(m botapi.Message) bool { return strings.Contains(m.Text, "Claude asks to use Bash") })
	settled(t, api, chat, q.ID, "Expired: nobody answered in time")
	says(chat, "final: Nobody answered")
	g.balanced()
}

// A permission that is asked stays asked whatever becomes of the daemon, once.
func TestTelegramPermissionAcrossDaemons(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(g *gateway) *gateway{
		"killed": func(g *gateway) *gateway { g.kill(); return g.machine.start() },
		"hung up": func(g *gateway) *gateway {
			g.hangUp(1)
			return g
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := newChat(t)
			g := m.start()
			chat.Send(anna, "tool 0 ask touch")
			q := asks(chat, "Allow")
			recorded(anna, chat)
			g = again(g)
			first, second := chat.Tap(anna, q.ID, "Allow"), chat.Tap(anna, q.ID, "Allow") // before anybody could answer
			a, b := told(t, api, first, "Allowed by Anna Arden"), told(t, api, second, "Allowed by Anna Arden")
			if strings.HasPrefix(a, "Too late") == strings.HasPrefix(b, "Too late") {
				t.Errorf("two taps are answered with %q and %q, want one that counts", a, b)
			}
			settled(t, api, chat, q.ID, "Allowed by Anna Arden")
			answers(chat, "final: ran: ask touch")
			n := 0
			for _, m := range chat.FromBot() {
				if strings.Contains(m.Text, "Claude asks") {
					n++
				}
			}
			if n != 1 || g.begun("touch") != 1 {
				t.Errorf("asked %d times, begun %d times, want once each", n, g.begun("touch"))
			}
			g.balanced()
		})
	}
}

// The daemon is killed while somebody decides, and the tap is not lost.
func TestTelegramTapWhileTheDaemonIsDead(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	g := m.start()
	chat.Send(anna, "tool 0 ask touch")
	q := asks(chat, "Allow")
	recorded(anna, chat)
	g.kill()
	chat.Tap(anna, q.ID, "Allow")
	g = m.start()
	settled(t, api, chat, q.ID, "Allowed by Anna Arden")
	answers(chat, "final: ran: ask touch")
	g.balanced()
}

// Should a question be sent twice, because the daemon was killed before it knew that it
// was sent, both of its messages work and end.
func TestTelegramPermissionAskedTwice(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	m.prefer(channelOf(chat), 0) // no status, which might be held instead
	g := m.start()
	held := api.HoldAnswer("sendMessage", chat.ID())
	chat.Send(anna, "tool 0 ask touch")
	first := asks(chat, "Allow")
	g.kill()
	held.Release()
	g = m.start()
	second := chat.AwaitMessage("the question again", func(m botapi.Message) bool {
		_, ok := m.Button("Allow")
		return ok && m.ID > first.ID
	})
	chat.Send(anna, "not like that", botapi.ReplyingTo(first.ID))
	settled(t, api, chat, second.ID, "Denied by Anna Arden: not like that")
	answers(chat, "final: not like that")
	told(t, api, chat.Tap(anna, first.ID, "Allow"), "Too late: Denied by Anna Arden")
	settled(t, api, chat, first.ID, "Denied by Anna Arden")
	g.balanced()
}

// In a group everybody who is listened to may decide, and nobody else.
func TestTelegramPermissionInAGroup(t *testing.T) {
	t.Parallel()
	m, api, anna, _ := newChat(t)
	ben, eve := api.User(8, "Ben", "", "ben"), api.User(9, "Eve", "", "eve")
	group := api.Supergroup(-1001234567890, "Team", anna, ben, eve)
	m.env = append(m.env, "BARECLAW_ALLOWED_USERS=7,8")
	g := m.start()
	group.Send(anna, "tool 0 ask touch")
	q := asks(group, "Allow")
	stranger := group.Tap(eve, q.ID, "Allow")
	group.Send(eve, "yes", botapi.ReplyingTo(q.ID))
	api.Await(t, "acknowledged taps", func() bool { return len(api.Pending()) == 0 })
	g.asked(1)
	if a, ok := stranger.Answer(); ok {
		t.Errorf("a stranger is told %q", a.Text)
	}
	told(t, api, group.Tap(ben, q.ID, "Allow"), "Allowed by Ben")
	settled(t, api, group, q.ID, "Allowed by Ben")
	answers(group, "final: ran: ask touch")
	g.balanced()
}

// What does not fit the question is shown when somebody asks for it.
func TestTelegramPermissionShowsAll(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	g := m.start()
	chat.Send(anna, "tool 0 ask "+strings.Repeat("long ", 300))
	q := asks(chat, "Show all")
	if len(q.Text) > 1300 {
		t.Errorf("the question is %d bytes long", len(q.Text))
	}
	chat.Tap(anna, q.ID, "Show all")
	says(chat, "The whole input of Bash", strings.Repeat("long ", 299))
	chat.Tap(anna, q.ID, "Deny")
	settled(t, api, chat, q.ID, "Denied")

	input, err := json.Marshal(obj{"file_path": "/x/y.go", "content": strings.Repeat("line\n", 600)})
	if err != nil {
		t.Fatal(err)
	}
	chat.Send(anna, "call Write "+string(input))
	q = asks(chat, "Show all", "Claude asks to use Write", "y.go", "+ line")
	chat.Tap(anna, q.ID, "Show all")
	chat.AwaitMessage("a file", func(m botapi.Message) bool {
		return m.Media != nil && m.Media.Name == "Write.json" && strings.Contains(string(m.Media.Data), "/x/y.go")
	})
	chat.Tap(anna, q.ID, "Allow")
	says(chat, "final: allowed Write")
	g.balanced()
}

// A tap can bring whatever data somebody's program likes: it does something only in the
// chat that the data is about, also for those who are listened to.
func TestTelegramButtonsOfOtherChats(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	g := m.start()
	team := api.Group(-100, "Team", anna)
	team.Send(anna, "echo here")
	here := says(team, "here")
	chat.Send(anna, "tool 0 ask rm")
	asks(chat, "Allow", "ask rm")
	id := g.asked(1)[0].str("id")
	chat.Send(anna, "echo waits")
	g.queued(channelOf(chat), 1)
	chat.Send(anna, "/queue")
	list := says(chat, "1 message waits")
	forged := []string{list.Buttons[0][0].Data, list.Buttons[0][1].Data, "q:" + id + ":0:0"}
	for _, verb := range []string{"ok", "no", "always", "all", "revise"} {
		forged = append(forged, verb+":"+id)
	}
	for _, data := range forged {
		told(t, api, team.TapStale(anna, here.ID, data), "not known any more")
	}
	g.asked(1)
	g.queued(channelOf(chat), 1)
	g.must("POST", "/approvals/"+id, obj{"behavior": "allow"}, 200)
	answers(chat, "final: ran: ask rm")
	answers(chat, "waits")
	g.balanced()
}
