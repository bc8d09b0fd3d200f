package realclaude

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// newRealChat is newChat with the real CLI.
func newRealChat(t testing.TB, settings ...string) (m *harness.RealMachine, api *botapi.Server, anna *botapi.User, chat *botapi.Chat) {
	t.Helper()
	api = botapi.New(t, botapi.WithoutRates())
	anna = api.User(7, "Anna", "Arden", "anna")
	return harness.NewRealMachine(t, append(harness.BotSettings(api, anna), settings...)...), api, anna, api.Private(anna)
}

// What is tapped in a chat decides what the CLI itself does.
func TestRealTelegramPermission(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newRealChat(t, "BARECLAW_ALLOWED_TOOLS=Read")
	g := m.Start()
	chat.Send(anna, "tool:bash touch "+m.Path("allowed"))
	q := harness.Asks(chat, "Allow", "Claude asks to use Bash", "touch "+m.Path("allowed"))
	if m.Exists("allowed") {
		t.Error("the tool ran before it was allowed")
	}
	chat.Tap(anna, q.ID, "Allow")
	harness.Settled(t, api, chat, q.ID, "Allowed by Anna Arden")
	harness.Says(chat, "final after 1 call(s)")
	if !m.Exists("allowed") {
		t.Error("the tool did not run although it was allowed")
	}
	chat.Send(anna, "tool:bash touch "+m.Path("denied"))
	q = harness.Asks(chat, "Deny", "denied")
	chat.Send(anna, "not on a Sunday", botapi.ReplyingTo(q.ID))
	harness.Settled(t, api, chat, q.ID, "Denied by Anna Arden: not on a Sunday")
	harness.Says(chat, "final after 1 call(s)", "not on a Sunday")
	if m.Exists("denied") {
		t.Error("the denied tool ran")
	}
	g.Balanced()
}

func TestRealTelegramQuestion(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newRealChat(t)
	g := m.Start()
	chat.Send(anna, strings.Replace(harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Colours()}}), "call ", "tool:", 1))
	q := harness.Asks(chat, "Blue", "Which colour?")
	chat.Tap(anna, q.ID, "Blue")
	harness.Settled(t, api, chat, q.ID, "Which colour? Blue", "Answered by Anna Arden")
	harness.Says(chat, "final after 1 call(s)", "Which colour?", "Blue")
	g.Balanced()
}

// A rule that “Always” has written is one that the CLI itself obeys, in the session at
// work and in the next one; removed, it asks again.
func TestRealTelegramAlways(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newRealChat(t, "BARECLAW_ALLOWED_TOOLS=Read")
	g := m.Start()
	command := "tool:bash mkdir -p " + m.Path("work/made")
	chat.Send(anna, command)
	q := chat.AwaitMessage("question with Always", func(m botapi.Message) bool { return alwaysOf(m) != "" })
	chat.Tap(anna, q.ID, alwaysOf(q))
	harness.Settled(t, api, chat, q.ID, "Allowed by Anna Arden")
	harness.Says(chat, "final after 1 call(s)")
	for _, fresh := range []bool{false, true} {
		if fresh {
			chat.Send(anna, "/new")
			harness.Says(chat, "Forgotten")
		}
		n := len(chat.FromBot())
		chat.Send(anna, command)
		chat.AwaitMessage("answer without a question", func(botapi.Message) bool {
			all := chat.FromBot()
			return len(all) > n && strings.Contains(all[len(all)-1].Text, "final after 1 call(s)")
		})
	}
	chat.Send(anna, "/rules")
	list := harness.Says(chat, "Always allowed in this chat", "Bash(mkdir")
	chat.Tap(anna, list.ID, list.Buttons[0][0].Text)
	harness.Becomes(t, api, chat, list.ID, "This chat has no rules")
	chat.Send(anna, command)
	again := chat.AwaitMessage("question again", func(m botapi.Message) bool { return m.ID > list.ID && alwaysOf(m) != "" })
	chat.Tap(anna, again.ID, "Allow")
	harness.Settled(t, api, chat, again.ID, "Allowed by Anna Arden")
	g.Balanced()
}

// alwaysOf returns the text of a message's button that allows something for ever.
func alwaysOf(m botapi.Message) string {
	for _, row := range m.Buttons {
		for _, b := range row {
			if strings.HasPrefix(b.Text, "Always") {
				return b.Text
			}
		}
	}
	return ""
}
