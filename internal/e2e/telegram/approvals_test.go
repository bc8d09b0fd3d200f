package telegram

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// recorded waits until all messages that the chat shows are on record as sent: the answer to a
// command is sent after them.
func (c *talk) recorded() { c.ask("/usage", "This chat today") }

func TestTelegramPermission(t *testing.T) {
	t.Parallel()
	for button, row := range map[string]struct{ told, closed, text string }{
		"Allow":              {"Allowed by Anna Arden", "Allowed by Anna Arden", "final: ran: ask rm"},
		"Deny":               {"Denied by Anna Arden", "Denied by Anna Arden", "final: The user denied permission for Bash."},
		"Always Bash(ask *)": {"always allowed in this chat", "Allowed by Anna Arden", "final: ran: ask rm"},
	} {
		t.Run(button, func(t *testing.T) {
			t.Parallel()
			c := newQuickTalk(t)
			c.send("tool 0 ask rm")
			q := c.asks(button, "Claude asks to use Bash", "ask rm", "Reply to this message to deny")
			b, _ := q.Button(button)
			c.tap(q, button, row.told)
			c.settles(q, row.closed, "ask rm")
			answers(c.chat, row.text)
			c.tapData(q, b.Data, "Too late: "+row.closed, "at ")
			c.Asked(0)
			c.Balanced()
		})
	}
}

// “Always” writes a rule, which the next session is launched with and which can be taken
// back.
func TestTelegramAlwaysAndRules(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	c.ask("/rules", "This chat has no rules")
	c.send("tool 0 ask one")
	c.tap(c.asks("Always Bash(ask *)"), "Always Bash(ask *)")
	answers(c.chat, "final: ran: ask one")
	c.ask("/new", "Forgotten")
	c.ask("args", `Bash(ask *)`, "--allowedTools")
	list := c.ask("/rules", "1. Bash(ask *) by Anna Arden")
	button := list.Buttons[0][0]
	c.tap(list, button.Text, "Removed")
	c.becomes(list, "This chat has no rules")
	c.tapData(list, button.Data, "already removed")
	if args := c.ask("args", "["); strings.Contains(args.Text, "Bash(ask") {
		t.Errorf("the rule is in the arguments %q", args.Text)
	}
	c.Balanced()
}

func TestTelegramPermissionByReply(t *testing.T) {
	t.Parallel()
	for text, row := range map[string]struct{ note, closed, text string }{
		"Yes.":          {"Allowed by Anna Arden", "Allowed by Anna Arden", "final: ran: ask ls"},
		"no":            {"Denied by Anna Arden", "Denied by Anna Arden", "final: The user denied permission for Bash."},
		"use *find* it": {"Claude has been told.", "Denied by Anna Arden: use *find* it", "final: use find it"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			c := newQuickTalk(t)
			c.send("tool 0 ask ls")
			q := c.asks("Deny")
			c.send(text, botapi.ReplyingTo(q.ID))
			c.says(row.note)
			c.settles(q, row.closed)
			answers(c.chat, row.text)
			if n := c.Balanced(); n != 1 {
				t.Errorf("%d messages were accepted, want 1: the reply is none", n)
			}
			c.send("echo now a message", botapi.ReplyingTo(q.ID))
			c.Eventually("the next reply is a message", func() bool { return c.Balanced() == 2 })
		})
	}
}

// Whoever is told of a decision late is told the truth, whoever made it and wherever.
func TestTelegramPermissionDecidedElsewhere(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	c.send("tool 0 ask one")
	q := c.asks("Allow")
	c.Must("POST", "/approvals/"+c.Asked(1)[0].Str("id"), harness.Obj{"behavior": "allow"}, 200)
	c.settles(q, "Allowed")
	answers(c.chat, "final: ran: ask one")

	c.send("tool 0 ask two")
	q = c.asks("Allow", "ask two")
	b, _ := q.Button("Allow")
	c.send("/stop")
	c.settles(q, "The turn ended before this was answered")
	c.tapData(q, b.Data, "Too late", "The turn ended")
	if c.Did("tool", "ask two") {
		t.Error("the tool ran")
	}
	c.tapData(q, "ok:no-such-approval", "no longer")
	c.tapData(q, "nonsense", "no longer")
	c.Balanced()
}

func TestTelegramPermissionExpires(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t, "BARECLAW_APPROVAL_TIMEOUT=1s")
	q := c.ask("tool 0 ask one", "Claude asks to use Bash")
	c.settles(q, "Expired: nobody answered in time")
	c.says("final: Nobody answered")
	c.Balanced()
}

// A permission that is asked stays asked whatever becomes of the daemon, once.
func TestTelegramPermissionAcrossDaemons(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(c *talk){
		"killed": (*talk).again, "hung up": func(c *talk) { hangUp(c.Gateway, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newQuickTalk(t)
			c.send("tool 0 ask touch")
			q := c.asks("Allow")
			c.recorded()
			again(c)
			first, second := c.chat.Tap(c.anna, q.ID, "Allow"), c.chat.Tap(c.anna, q.ID, "Allow") // before anybody could answer
			a, b := told(t, c.api, first, "Allowed by Anna Arden"), told(t, c.api, second, "Allowed by Anna Arden")
			if strings.HasPrefix(a, "Too late") == strings.HasPrefix(b, "Too late") {
				t.Errorf("two taps are answered with %q and %q, want one that counts", a, b)
			}
			c.settles(q, "Allowed by Anna Arden")
			answers(c.chat, "final: ran: ask touch")
			if n := harness.CountText(c.chat, "Claude asks"); n != 1 || c.Begun("touch") != 1 {
				t.Errorf("asked %d times, begun %d times, want once each", n, c.Begun("touch"))
			}
			c.Balanced()
		})
	}
}

// The daemon is killed while somebody decides, and the tap is not lost.
func TestTelegramTapWhileTheDaemonIsDead(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	c.send("tool 0 ask touch")
	q := c.asks("Allow")
	c.recorded()
	c.Kill()
	c.chat.Tap(c.anna, q.ID, "Allow")
	c.again()
	c.settles(q, "Allowed by Anna Arden")
	answers(c.chat, "final: ran: ask touch")
	c.Balanced()
}

// Should a question be sent twice, because the daemon was killed before it knew that it
// was sent, both of its messages work and end.
func TestTelegramPermissionAskedTwice(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	prefer(m, channelOf(chat), 0) // no status, which might be held instead
	c := &talk{m.Start(), api, anna, chat}
	held := api.HoldAnswer("sendMessage", chat.ID())
	c.send("tool 0 ask touch")
	first := c.asks("Allow")
	c.Kill()
	held.Release()
	c.again()
	second := chat.AwaitMessage("the question again", func(m botapi.Message) bool {
		_, ok := m.Button("Allow")
		return ok && m.ID > first.ID
	})
	c.send("not like that", botapi.ReplyingTo(first.ID))
	c.settles(second, "Denied by Anna Arden: not like that")
	answers(chat, "final: not like that")
	c.tap(first, "Allow", "Too late: Denied by Anna Arden")
	c.settles(first, "Denied by Anna Arden")
	c.Balanced()
}

// In a group everybody who is listened to may decide, and nobody else.
func TestTelegramPermissionInAGroup(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t, "BARECLAW_ALLOWED_USERS=7,8")
	ben, eve := c.api.User(8, "Ben", "", "ben"), c.api.User(9, "Eve", "", "eve")
	c = c.in(c.api.Supergroup(-1001234567890, "Team", c.anna, ben, eve))
	c.send("tool 0 ask touch")
	q := c.asks("Allow")
	stranger := c.chat.Tap(eve, q.ID, "Allow")
	c.chat.Send(eve, "yes", botapi.ReplyingTo(q.ID))
	c.api.Await(t, "acknowledged taps", func() bool { return len(c.api.Pending()) == 0 })
	c.Asked(1)
	if a, ok := stranger.Answer(); ok {
		t.Errorf("a stranger is told %q", a)
	}
	told(t, c.api, c.chat.Tap(ben, q.ID, "Allow"), "Allowed by Ben")
	c.settles(q, "Allowed by Ben")
	answers(c.chat, "final: ran: ask touch")
	c.Balanced()
}

// The whole input is shown: in the question, or before the question where that has no room.
func TestTelegramPermissionShowsAll(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t, "BARECLAW_TELEGRAM_FILE_OVER=2", "BARECLAW_APPROVALS=ask")
	long := strings.Repeat("long ", 600) + "the end"
	c.send("tool 0 ask " + long)
	q := c.asks("Allow", "Claude asks to use Bash", long)
	if len(q.Buttons) != 2 {
		t.Errorf("its buttons are %v", q.Buttons)
	}
	c.tap(q, "Deny")
	c.settles(q, long, "Denied by Anna Arden")

	c.send(harness.Calling(t, "Write", harness.Obj{"file_path": "/x/y.go", "content": strings.Repeat("line\n", 600) + "the end"}))
	q = c.asks("Allow", "Claude asks to use Write. The whole request is above.")
	first, last := c.says("Write: /x/y.go\n+ line"), c.says("+ the end")
	if first.ID >= last.ID || last.ID >= q.ID || len(first.Buttons)+len(last.Buttons) > 0 {
		t.Errorf("the request is in the messages %d, %d and %d", first.ID, last.ID, q.ID)
	}
	c.send("yes", botapi.ReplyingTo(first.ID))
	c.says("final: allowed Write")

	long = "true #" + strings.Repeat(" word", 3000) + "\nthe end" // too long for a message to the bot
	id := c.Tell(c.key(), harness.Calling(t, "Bash", harness.Obj{"command": long, "timeout": 7}))
	file := c.chat.AwaitMessage("a file", func(m botapi.Message) bool { return m.Media != nil })
	if text := string(file.Media.Data); file.Media.Name != "request.txt" || !strings.HasSuffix(text, " word\nthe end\ntimeout: 7\n") {
		t.Errorf("the file %s ends with %q", file.Media.Name, text[max(0, len(text)-50):])
	}
	q = c.asks("Allow", "Claude asks to use Bash. The whole request is above.")
	if file.ID >= q.ID {
		t.Errorf("the file is message %d, the question %d", file.ID, q.ID)
	}
	c.tap(q, "Allow")
	if text := c.Outcome(id).Str("text"); !strings.HasPrefix(text, "final: allowed Bash") {
		t.Errorf("the outcome is %.100q", text)
	}
	c.Balanced()
}

// No button is there, and no reply allows anything, before all of a request is in the chat, also
// when the daemon is killed meanwhile.
func TestTelegramButtonsComeLast(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t, "BARECLAW_APPROVALS=ask")
	prefer(m, channelOf(chat), 0) // no status, which might be held instead
	c := &talk{m.Start(), api, anna, chat}
	held := api.HoldLater(1, "sendMessage", chat.ID())
	id := c.Tell(c.key(), harness.Calling(t, "Bash", harness.Obj{"command": "true #" + strings.Repeat(" word", 2000) + "\nthe end"}))
	api.Await(t, "the second part", held.Reached)
	first := c.says("Claude asks to use Bash\ntrue #")
	c.send("yes", botapi.ReplyingTo(first.ID))
	c.Eventually("the reply is answered", func() bool { return c.TelegramHealth()["pending"] == 2.0 })
	c.Asked(1)
	c.Kill()
	held.Release()
	if len(chat.FromBot()) > 1 {
		t.Fatalf("the chat has %v", harness.Texts(chat))
	}
	c.again()
	q := c.asks("Allow")
	c.says("Not all of the request is shown yet")
	for _, m := range chat.FromBot() {
		if strings.HasSuffix(m.Text, "the end") != (m.ID == q.ID-1) || len(m.Buttons) > 0 != (m.ID == q.ID) {
			t.Errorf("message %d ends with %q and has the buttons %v; the question is %d", m.ID, m.Text[max(0, len(m.Text)-20):], m.Buttons, q.ID)
		}
		if m.ID == q.ID {
			break
		}
	}
	c.Asked(1)
	c.tap(q, "Allow")
	if text := c.Outcome(id).Str("text"); !strings.HasPrefix(text, "final: allowed Bash") {
		t.Errorf("the outcome is %.100q", text)
	}
	c.Balanced()
}

// The buttons of an earlier version, whose message may not show all, allow nothing: they bring the
// request again, whole. Nor does a reply allow anything, whatever Telegram says of the buttons.
func TestTelegramButtonsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	c.send("tool 0 ask rm")
	q := c.asks("Allow", "ask rm")
	c.recorded()
	data := "ok:" + c.Asked(1)[0].Str("id")
	c.withoutButtons(q)
	c.send("yes", botapi.ReplyingTo(q.ID))
	c.says("Not all of the request is shown yet")
	again := q
	for _, former := range []string{data, strings.Replace(data, "ok:", "q:", 1) + ":0:0"} {
		c.tapData(q, former, "The request is sent again, whole")
		last := again.ID
		again = c.chat.AwaitMessage("the request again", func(m botapi.Message) bool {
			_, ok := m.Button("Allow")
			return ok && m.ID > last && strings.Contains(m.Text, "ask rm")
		})
	}
	c.Asked(1)
	c.tap(again, "Allow", "Allowed by Anna Arden")
	c.settles(again, "Allowed by Anna Arden")
	c.settles(q, "Allowed by Anna Arden")
	c.tapData(q, data, "Too late: Allowed by Anna Arden")
	answers(c.chat, "final: ran: ask rm")
	c.Balanced()
}

// withoutButtons removes the buttons of a message.
func (c *talk) withoutButtons(m botapi.Message) {
	c.T.Helper()
	body := fmt.Sprintf(`{"chat_id":%d,"message_id":%d,"text":"Claude asks"}`, c.chat.ID(), m.ID)
	resp, err := http.Post(c.api.URL()+"/bot"+c.api.Token()+"/editMessageText", "application/json", strings.NewReader(body))
	if err != nil || resp.StatusCode != http.StatusOK {
		c.T.Fatalf("edit of the message: %v, %v", resp, err)
	}
	resp.Body.Close()
}

// A tap can bring whatever data somebody's program likes: it does something only in the
// chat that the data is about, also for those who are listened to.
func TestTelegramButtonsOfOtherChats(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	team := c.in(c.api.Group(-100, "Team", c.anna))
	here := team.ask("echo here", "here")
	c.send("tool 0 ask rm")
	c.asks("Allow", "ask rm")
	id := c.Asked(1)[0].Str("id")
	c.waits(1, "echo waits")
	list := c.ask("/queue", "1 message is waiting")
	forged := []string{list.Buttons[0][0].Data, list.Buttons[0][1].Data, "answer:" + id + ":0:0", "q:" + id + ":0:0"}
	for _, verb := range []string{"allow", "deny", "rule", "change", "ok", "no", "always", "all", "revise"} {
		forged = append(forged, verb+":"+id)
	}
	for _, data := range forged {
		team.tapData(here, data, "no longer")
	}
	c.Asked(1)
	c.Queued(c.key(), 1)
	c.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "allow"}, 200)
	answers(c.chat, "final: ran: ask rm")
	answers(c.chat, "waits")
	c.Balanced()
}
