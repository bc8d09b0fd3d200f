package telegram

import (
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

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
		"always": {"Always Bash(ask *)", "always allowed in this chat", "Allowed by Anna Arden", "final: ran: ask rm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := harness.NewChat(t)
			g := m.Start()
			chat.Send(anna, "tool 0 ask rm")
			q := harness.Asks(chat, row.button, "Claude asks to use Bash", "ask rm", "Reply to this message to deny")
			b, _ := q.Button(row.button)
			told(t, api, chat.Tap(anna, q.ID, row.button), row.told)
			harness.Settled(t, api, chat, q.ID, row.closed, "ask rm")
			answers(chat, row.text)
			told(t, api, chat.TapStale(anna, q.ID, b.Data), "Too late: "+row.closed, "at ")
			g.Asked(0)
			g.Balanced()
		})
	}
}

// “Always” writes a rule, which the next session is launched with and which can be
// taken back.
func TestTelegramAlwaysAndRules(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	chat.Send(anna, "/rules")
	harness.Says(chat, "This chat has no rules")
	chat.Send(anna, "tool 0 ask one")
	q := harness.Asks(chat, "Always Bash(ask *)")
	chat.Tap(anna, q.ID, "Always Bash(ask *)")
	answers(chat, "final: ran: ask one")
	chat.Send(anna, "/new")
	harness.Says(chat, "Forgotten")
	chat.Send(anna, "args")
	harness.Says(chat, `Bash(ask *)`, "--allowedTools")
	chat.Send(anna, "/rules")
	list := harness.Says(chat, "1. Bash(ask *) by Anna Arden")
	button := list.Buttons[0][0]
	told(t, api, chat.Tap(anna, list.ID, button.Text), "Removed")
	harness.Becomes(t, api, chat, list.ID, "This chat has no rules")
	told(t, api, chat.TapStale(anna, list.ID, button.Data), "already removed")
	chat.Send(anna, "args")
	chat.AwaitMessage("arguments without the rule", func(m botapi.Message) bool {
		return m.FromBot && m.ID > list.ID && strings.HasPrefix(m.Text, "[") && !strings.Contains(m.Text, "Bash(ask")
	})
	g.Balanced()
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
			m, api, anna, chat := harness.NewChat(t)
			g := m.Start()
			chat.Send(anna, "tool 0 ask ls")
			q := harness.Asks(chat, "Deny")
			chat.Send(anna, text, botapi.ReplyingTo(q.ID))
			harness.Says(chat, row.note)
			harness.Settled(t, api, chat, q.ID, row.closed)
			answers(chat, row.text)
			if n := g.Balanced(); n != 1 {
				t.Errorf("%d messages were accepted, want 1: the reply is none", n)
			}
			chat.Send(anna, "echo now a message", botapi.ReplyingTo(q.ID))
			g.Eventually("the next reply is a message", func() bool { return g.Balanced() == 2 })
		})
	}
}

// Whoever is told of a decision late is told the truth, whoever made it and wherever.
func TestTelegramPermissionDecidedElsewhere(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	chat.Send(anna, "tool 0 ask one")
	q := harness.Asks(chat, "Allow")
	g.Must("POST", "/approvals/"+g.Asked(1)[0].Str("id"), harness.Obj{"behavior": "allow"}, 200)
	harness.Settled(t, api, chat, q.ID, "Allowed")
	answers(chat, "final: ran: ask one")

	chat.Send(anna, "tool 0 ask two")
	q = harness.Asks(chat, "Allow", "ask two")
	b, _ := q.Button("Allow")
	chat.Send(anna, "/stop")
	harness.Settled(t, api, chat, q.ID, "The turn ended before this was answered")
	told(t, api, chat.TapStale(anna, q.ID, b.Data), "Too late", "The turn ended")
	if m.Did("tool", "ask two") {
		t.Error("the tool ran")
	}
	told(t, api, chat.TapStale(anna, q.ID, "ok:no-such-approval"), "no longer")
	told(t, api, chat.TapStale(anna, q.ID, "nonsense"), "no longer")
	g.Balanced()
}

func TestTelegramPermissionExpires(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t, "BARECLAW_APPROVAL_TIMEOUT=1s")
	g := m.Start()
	chat.Send(anna, "tool 0 ask one")
	q := chat.AwaitMessage("question", func(m botapi.Message) bool { return strings.Contains(m.Text, "Claude asks to use Bash") })
	harness.Settled(t, api, chat, q.ID, "Expired: nobody answered in time")
	harness.Says(chat, "final: Nobody answered")
	g.Balanced()
}

// A permission that is asked stays asked whatever becomes of the daemon, once.
func TestTelegramPermissionAcrossDaemons(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(g *harness.Gateway) *harness.Gateway{
		"killed": func(g *harness.Gateway) *harness.Gateway { g.Kill(); return g.Machine.Start() },
		"hung up": func(g *harness.Gateway) *harness.Gateway {
			hangUp(g, 1)
			return g
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := harness.NewChat(t)
			g := m.Start()
			chat.Send(anna, "tool 0 ask touch")
			q := harness.Asks(chat, "Allow")
			recorded(anna, chat)
			g = again(g)
			first, second := chat.Tap(anna, q.ID, "Allow"), chat.Tap(anna, q.ID, "Allow") // before anybody could answer
			a, b := told(t, api, first, "Allowed by Anna Arden"), told(t, api, second, "Allowed by Anna Arden")
			if strings.HasPrefix(a, "Too late") == strings.HasPrefix(b, "Too late") {
				t.Errorf("two taps are answered with %q and %q, want one that counts", a, b)
			}
			harness.Settled(t, api, chat, q.ID, "Allowed by Anna Arden")
			answers(chat, "final: ran: ask touch")
			n := 0
			for _, m := range chat.FromBot() {
				if strings.Contains(m.Text, "Claude asks") {
					n++
				}
			}
			if n != 1 || g.Begun("touch") != 1 {
				t.Errorf("asked %d times, begun %d times, want once each", n, g.Begun("touch"))
			}
			g.Balanced()
		})
	}
}

// The daemon is killed while somebody decides, and the tap is not lost.
func TestTelegramTapWhileTheDaemonIsDead(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	chat.Send(anna, "tool 0 ask touch")
	q := harness.Asks(chat, "Allow")
	recorded(anna, chat)
	g.Kill()
	chat.Tap(anna, q.ID, "Allow")
	g = m.Start()
	harness.Settled(t, api, chat, q.ID, "Allowed by Anna Arden")
	answers(chat, "final: ran: ask touch")
	g.Balanced()
}

// Should a question be sent twice, because the daemon was killed before it knew that it
// was sent, both of its messages work and end.
func TestTelegramPermissionAskedTwice(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	prefer(m, channelOf(chat), 0) // no status, which might be held instead
	g := m.Start()
	held := api.HoldAnswer("sendMessage", chat.ID())
	chat.Send(anna, "tool 0 ask touch")
	first := harness.Asks(chat, "Allow")
	g.Kill()
	held.Release()
	g = m.Start()
	second := chat.AwaitMessage("the question again", func(m botapi.Message) bool {
		_, ok := m.Button("Allow")
		return ok && m.ID > first.ID
	})
	chat.Send(anna, "not like that", botapi.ReplyingTo(first.ID))
	harness.Settled(t, api, chat, second.ID, "Denied by Anna Arden: not like that")
	answers(chat, "final: not like that")
	told(t, api, chat.Tap(anna, first.ID, "Allow"), "Too late: Denied by Anna Arden")
	harness.Settled(t, api, chat, first.ID, "Denied by Anna Arden")
	g.Balanced()
}

// In a group everybody who is listened to may decide, and nobody else.
func TestTelegramPermissionInAGroup(t *testing.T) {
	t.Parallel()
	m, api, anna, _ := harness.NewChat(t)
	ben, eve := api.User(8, "Ben", "", "ben"), api.User(9, "Eve", "", "eve")
	group := api.Supergroup(-1001234567890, "Team", anna, ben, eve)
	m.Env = append(m.Env, "BARECLAW_ALLOWED_USERS=7,8")
	g := m.Start()
	group.Send(anna, "tool 0 ask touch")
	q := harness.Asks(group, "Allow")
	stranger := group.Tap(eve, q.ID, "Allow")
	group.Send(eve, "yes", botapi.ReplyingTo(q.ID))
	api.Await(t, "acknowledged taps", func() bool { return len(api.Pending()) == 0 })
	g.Asked(1)
	if a, ok := stranger.Answer(); ok {
		t.Errorf("a stranger is told %q", a.Text)
	}
	told(t, api, group.Tap(ben, q.ID, "Allow"), "Allowed by Ben")
	harness.Settled(t, api, group, q.ID, "Allowed by Ben")
	answers(group, "final: ran: ask touch")
	g.Balanced()
}

// What does not fit the question is shown when somebody asks for it.
func TestTelegramPermissionShowsAll(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	chat.Send(anna, "tool 0 ask "+strings.Repeat("long ", 300))
	q := harness.Asks(chat, "Show all")
	if len(q.Text) > 1300 {
		t.Errorf("the question is %d bytes long", len(q.Text))
	}
	chat.Tap(anna, q.ID, "Show all")
	harness.Says(chat, "The whole input of Bash", strings.Repeat("long ", 299))
	chat.Tap(anna, q.ID, "Deny")
	harness.Settled(t, api, chat, q.ID, "Denied")

	input, err := json.Marshal(harness.Obj{"file_path": "/x/y.go", "content": strings.Repeat("line\n", 600)})
	if err != nil {
		t.Fatal(err)
	}
	chat.Send(anna, "call Write "+string(input))
	q = harness.Asks(chat, "Show all", "Claude asks to use Write", "y.go", "+ line")
	chat.Tap(anna, q.ID, "Show all")
	chat.AwaitMessage("a file", func(m botapi.Message) bool {
		return m.Media != nil && m.Media.Name == "Write.json" && strings.Contains(string(m.Media.Data), "/x/y.go")
	})
	chat.Tap(anna, q.ID, "Allow")
	harness.Says(chat, "final: allowed Write")
	g.Balanced()
}

// A tap can bring whatever data somebody's program likes: it does something only in the
// chat that the data is about, also for those who are listened to.
func TestTelegramButtonsOfOtherChats(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	team := api.Group(-100, "Team", anna)
	team.Send(anna, "echo here")
	here := harness.Says(team, "here")
	chat.Send(anna, "tool 0 ask rm")
	harness.Asks(chat, "Allow", "ask rm")
	id := g.Asked(1)[0].Str("id")
	chat.Send(anna, "echo waits")
	g.Queued(channelOf(chat), 1)
	chat.Send(anna, "/queue")
	list := harness.Says(chat, "1 message is waiting")
	forged := []string{list.Buttons[0][0].Data, list.Buttons[0][1].Data, "q:" + id + ":0:0"}
	for _, verb := range []string{"ok", "no", "always", "all", "revise"} {
		forged = append(forged, verb+":"+id)
	}
	for _, data := range forged {
		told(t, api, team.TapStale(anna, here.ID, data), "no longer")
	}
	g.Asked(1)
	g.Queued(channelOf(chat), 1)
	g.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "allow"}, 200)
	answers(chat, "final: ran: ask rm")
	answers(chat, "waits")
	g.Balanced()
}
