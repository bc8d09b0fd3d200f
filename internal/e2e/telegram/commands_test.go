package telegram

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// told waits for what a tap is answered with.
func told(t testing.TB, api *botapi.Server, tap botapi.Tap, parts ...string) string {
	t.Helper()
	var a botapi.Answer
	api.Await(t, "answer to a tap", func() (ok bool) { a, ok = tap.Answer(); return ok })
	if !harness.ContainsAll(a.Text, parts) {
		t.Errorf("the tap is answered with %q, want %q in it", a.Text, parts)
	}
	return a.Text
}

// runs waits until the chat's turn runs in the agent.
func runs(g *harness.Gateway, channel, text string) {
	g.T.Helper()
	g.Eventually(text+" runs", func() bool { return g.Begun(text) > 0 })
}

// answers waits for a message of the bot with exactly that text.
func answers(chat *botapi.Chat, text string) botapi.Message {
	return chat.AwaitMessage("answer "+text, func(m botapi.Message) bool { return m.FromBot && m.Text == text })
}

// hangUp restarts the daemon in place, and waits until it is of that generation.
func hangUp(g *harness.Gateway, generation float64) {
	g.T.Helper()
	if err := g.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		g.T.Fatal(err)
	}
	g.Restarted(generation)
}

func channelOf(c *botapi.Chat) string { return fmt.Sprintf("tg-%d", c.ID()) }

func TestTelegramMenu(t *testing.T) {
	t.Parallel()
	m, api, _, _ := harness.NewChatWith(t, nil)
	api.Script("setMyCommands", 0, botapi.InternalError())
	g := m.Start()
	want := []string{"new", "stop", "status", "queue", "model", "mode", "usage", "verbose", "rules", "why", "restart", "help"}
	api.Await(t, "menu", func() bool { return slices.Equal(api.Commands(), want) })
	g.Kill()
	sets, asked := len(api.Calls("setMyCommands")), len(api.Calls("getMyCommands"))
	m.Start()
	api.Await(t, "look at the menu", func() bool { return len(api.Calls("getMyCommands")) > asked && api.Polling() })
	if n := len(api.Calls("setMyCommands")); n != sets {
		t.Errorf("the menu was set again (%d times, %d before) although it is the same", n, sets)
	}
}

func TestTelegramNew(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "/new")
	harness.Says(chat, "nothing to forget")
	chat.Send(anna, "echo one")
	chat.AwaitText("one")
	chat.Send(anna, "/new")
	harness.Says(chat, "Forgotten")
	chat.Send(anna, "history")
	chat.AwaitMessage("a history without what came before", func(m botapi.Message) bool {
		return m.FromBot && strings.HasPrefix(m.Text, "[") && !strings.Contains(m.Text, "echo one")
	})
	running := chat.Send(anna, "tool 600000 long")
	runs(g, channelOf(chat), "long")
	waiting := chat.Send(anna, "echo never")
	g.Eventually("a message waits", func() bool { return g.Channel(channelOf(chat)).Number("waiting") == 1 })
	chat.Send(anna, "/new@"+"other_bot")
	chat.Send(anna, "/new")
	harness.Says(chat, "Forgotten")
	for text, id := range map[string]int{"long": running.MessageID, "never": waiting.MessageID} {
		chat.AwaitMessage("what became of "+text, func(m botapi.Message) bool {
			return m.ReplyTo == id && m.Text == "⏹ The conversation was closed before this message was answered."
		})
	}
	settled(m, api, chat)
	told := 0
	for _, text := range harness.Texts(chat) {
		if strings.Contains(text, "closed before") || strings.Contains(text, "cancelled") {
			told++
		}
	}
	if told != 2 {
		t.Errorf("two messages were ended, and the chat tells %d times of that: %q", told, harness.Texts(chat))
	}
	if g.Begun("never") != 0 {
		t.Error("a cancelled message ran")
	}
	g.Balanced()
}

func TestTelegramStop(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "/stop")
	harness.Says(chat, "Nothing is running")
	chat.Send(anna, "echo before")
	chat.AwaitText("before")
	long := chat.Send(anna, "tool 600000 long")
	runs(g, channelOf(chat), "long")
	before := len(chat.FromBot())
	late := harness.Lateness(t)
	chat.Send(anna, "/stop")
	m1 := harness.Says(chat, "⏹ Stopped within", "kept")
	newestStoppedWithin(g, channelOf(chat), harness.Promised, late())
	if m1.ReplyTo != long.MessageID {
		t.Errorf("it is a reply to %d, not to the message that was stopped", m1.ReplyTo)
	}
	settled(m, api, chat)
	if got := harness.Texts(chat); len(chat.FromBot()) != before+1 {
		t.Errorf("one /stop made other messages too: %q", got)
	}
	chat.Send(anna, "history")
	harness.Says(chat, "echo before", "long")
	g.Balanced()
}

// An agent that does not listen is ended; until then it is said that this goes on.
func TestTelegramStopOfADeafAgent(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "mute")
	runs(g, channelOf(chat), "mute")
	chat.Send(anna, "echo next")
	g.Eventually("a message waits", func() bool { return g.Channel(channelOf(chat)).Number("waiting") == 1 })
	ids := g.History(channelOf(chat)) // the newest first
	deaf := ids[len(ids)-1]
	late := harness.Lateness(t)
	chat.Send(anna, "/stop")
	note := harness.Says(chat, "Stopping…")
	harness.Says(chat, "⏹ Stopped within", "kept", "1 message is waiting and comes next")
	g.StoppedWithin(deaf, harness.Promised, late())
	chat.AwaitGone(note.ID)
	answers(chat, "next")
	settled(m, api, chat)
	if got := harness.Texts(chat); len(got) != 2 {
		t.Errorf("the chat has %q", got)
	}
	g.Balanced()
}

// A turn whose outcome does not come to the chat is answered by the command itself.
func TestTelegramStopOfAnothersTurn(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	g.Tell("tg-7", "tool 600000 long")
	runs(g, "tg-7", "long")
	sent := chat.Send(anna, "/stop")
	if note := harness.Says(chat, "Stopped within", "kept"); note.ReplyTo != sent.MessageID {
		t.Errorf("the answer is a reply to %d, not to the command", note.ReplyTo)
	}
	settled(m, api, chat)
	if got := harness.Texts(chat); len(got) != 1 {
		t.Errorf("the chat has %q", got)
	}
	g.Balanced()
}

// A daemon that is killed while it stops a turn leaves no word of that behind.
func TestTelegramStopAndKill(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "mute")
	runs(g, channelOf(chat), "mute")
	chat.Send(anna, "/stop")
	note := harness.Says(chat, "Stopping…")
	g.Delivered() // else it may be there twice
	g.Kill()
	g = m.Start()
	chat.AwaitGone(note.ID)
	harness.Says(chat, "⏹ ")
	settled(m, api, chat)
	if got := harness.Texts(chat); len(got) != 1 {
		t.Errorf("the chat has %q", got)
	}
	g.Balanced()
}

func TestTelegramStatusAndUsage(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := harness.NewChatWith(t, nil, "BARECLAW_DAILY_BUDGET_USD=100", harness.Noon())
	g := m.Start()
	chat.Send(anna, "echo one")
	chat.AwaitText("one")
	chat.Send(anna, "/status")
	harness.Says(chat, "Now: idle", "Waiting: nothing", "Model: as configured for the gateway", "1 turn", "Session: ", "Gateway: bareclaw", "claude")
	chat.Send(anna, "tool 600000 long")
	runs(g, channelOf(chat), "long")
	chat.Send(anna, "echo two")
	chat.Send(anna, "/status")
	harness.Says(chat, "Now: working for", "Waiting: 1 message")
	chat.Send(anna, "/usage")
	harness.Says(chat, "This chat today: $0.0", "1 turn", "of $100.00 a day")
}

func TestTelegramQueue(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "/queue")
	harness.Says(chat, "No message is waiting")
	free := m.Path("go")
	chat.Send(anna, "toolwait "+free)
	runs(g, channelOf(chat), "toolwait")
	first := chat.Send(anna, "echo *first*")
	chat.Send(anna, "echo second")
	g.Eventually("both wait", func() bool { return g.Channel(channelOf(chat)).Number("waiting") == 2 })
	chat.Send(anna, "/queue")
	list := harness.Says(chat, "2 messages are waiting", "1. Anna Arden: echo *first*", "2. Anna Arden: echo second")
	told(t, api, chat.Tap(anna, list.ID, "Drop 1"), "Dropped")
	list = harness.Becomes(t, api, chat, list.ID, "1 message is waiting", "1. Anna Arden: echo second")
	chat.AwaitMessage("what became of the dropped message", func(m botapi.Message) bool {
		return m.ReplyTo == first.MessageID && m.Text == "⏹ Cancelled before it was begun."
	})
	if strings.Contains(list.Text, "first") {
		t.Errorf("the list is still %q", list.Text)
	}
	b, _ := list.Button("Drop 1")
	m.Touch("go")
	answers(chat, "second")
	told(t, api, chat.TapStale(anna, list.ID, b.Data), "no longer waiting", "answered")
	harness.Becomes(t, api, chat, list.ID, "No message is waiting")
	if g.Begun("*first*") != 0 {
		t.Error("a dropped message ran")
	}
	g.Balanced()
}

// Who declines bypassPermissions keeps the mode that the chat had, whether the question
// came from a command or from a button, and also where the mode has changed meanwhile.
func TestTelegramBypassIsDeclined(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	mode := func() string { return g.Channel(channelOf(chat)).Str("permission_mode") }
	chat.Send(anna, "/mode bypassPermissions")
	q := harness.Says(chat, "Careful")
	chat.Tap(anna, q.ID, "No, keep the mode")
	harness.Becomes(t, api, chat, q.ID, "permission mode is still as configured for the gateway")
	chat.Send(anna, "/mode")
	harness.Says(chat, "permission mode of this chat is as configured for the gateway")

	chat.Send(anna, "/mode plan")
	list := harness.Says(chat, "From the next turn on the permission mode is plan")
	chat.Tap(anna, list.ID, "bypassPermissions")
	harness.Becomes(t, api, chat, list.ID, "Careful")
	chat.Tap(anna, list.ID, "No, keep the mode")
	list = harness.Becomes(t, api, chat, list.ID, "The permission mode is still plan")
	if _, ok := list.Button("✓ plan"); !ok {
		t.Errorf("plan is not marked: %v", list.Buttons)
	}
	if got := mode(); got != "plan" {
		t.Errorf("the mode is %q, want plan", got)
	}

	chat.Tap(anna, list.ID, "bypassPermissions")
	harness.Becomes(t, api, chat, list.ID, "Careful")
	chat.Send(anna, "/mode acceptEdits")
	harness.Says(chat, "From the next turn on the permission mode is acceptEdits")
	chat.Tap(anna, list.ID, "No, keep the mode")
	harness.Becomes(t, api, chat, list.ID, "The permission mode is still acceptEdits")
	if got := mode(); got != "acceptEdits" {
		t.Errorf("the mode is %q, want acceptEdits", got)
	}
	g.Balanced()
}

func TestTelegramModelAndMode(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "/model")
	note := harness.Says(chat, "The model of this chat is as configured for the gateway")
	chat.Tap(anna, note.ID, "haiku")
	note = harness.Becomes(t, api, chat, note.ID, "From the next turn on the model is haiku")
	if _, ok := note.Button("✓ haiku"); !ok {
		t.Errorf("haiku is not marked: %v", note.Buttons)
	}
	chat.Send(anna, "args")
	harness.Says(chat, `"--model","haiku"`)
	chat.Send(anna, "/model two words")
	harness.Says(chat, "two words is not the name of a model", "opus")
	chat.Send(anna, "/model opus")
	harness.Says(chat, "From the next turn on the model is opus")
	chat.Tap(anna, note.ID, "default")
	harness.Becomes(t, api, chat, note.ID, "From the next turn on the model is as configured for the gateway")

	chat.Send(anna, "/mode sometimes")
	harness.Says(chat, "sometimes is not a permission mode", "acceptEdits", "plan")
	chat.Send(anna, "/mode plan")
	mode := harness.Says(chat, "From the next turn on the permission mode is plan")
	chat.Send(anna, "args")
	harness.Says(chat, `"--permission-mode","plan"`)
	chat.Tap(anna, mode.ID, "bypassPermissions")
	harness.Becomes(t, api, chat, mode.ID, "Careful", "nobody is asked")
	chat.Send(anna, "/status")
	harness.Says(chat, "Mode: plan")
	chat.Tap(anna, mode.ID, "Yes, bypass permissions")
	harness.Becomes(t, api, chat, mode.ID, "From the next turn on the permission mode is bypassPermissions")
	g.Balanced()
}

// The model that claude says it uses is named, besides what is set.
func TestTelegramModelInUse(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "echo one")
	answers(chat, "one")
	chat.Send(anna, "/status")
	first := harness.Says(chat, "Model: as configured for the gateway (in use: ")
	chat.Send(anna, "/model")
	harness.Says(chat, "The model of this chat is as configured for the gateway (in use: ")
	chat.Send(anna, "/model haiku")
	harness.Says(chat, "From the next turn on the model is haiku")
	chat.Send(anna, "echo two")
	answers(chat, "two")
	chat.Send(anna, "/status")
	harness.Says(chat, "Model: haiku (in use: haiku)")
	if strings.Contains(first.Text, "in use: haiku") {
		t.Errorf("before that was set it says %q", first.Text)
	}
	g.Balanced()
}

func TestTelegramVerbose(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "/verbose 3")
	harness.Says(chat, "3 is not a level", "0 (answers only)")
	chat.Send(anna, "/verbose 2")
	note := harness.Says(chat, "From now on", "everything")
	chat.Tap(anna, note.ID, "0")
	harness.Becomes(t, api, chat, note.ID, "answers only")
	g.Kill()
	m.Start()
	chat.Send(anna, "/verbose")
	harness.Says(chat, "Shown here: answers only")
}

func TestTelegramHelp(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "/start")
	harness.Says(chat, "This is BAREclaw", "/help")
	chat.Send(anna, "/help")
	harness.Says(chat, "/queue – waiting messages", "/compact")
	chat.Send(anna, "/context")
	harness.Says(chat, "fakeclaude has no context") // the agent's own command
	g.Balanced()
}

func TestTelegramWhy(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "/why")
	harness.Says(chat, "Claude has not received a message")
	first := chat.Send(anna, "tool 0 ls")
	answer := harness.Says(chat, "final: ran: ls")
	chat.Send(anna, "echo later")
	chat.AwaitText("later")
	parts := []string{"Anna Arden: tool 0 ls", "received", "handed to Claude", "Bash: ls", "answered after"}
	chat.Send(anna, "/why", botapi.ReplyingTo(first.MessageID))
	mine := harness.Says(chat, parts...)
	chat.Send(anna, "/why", botapi.ReplyingTo(answer.ID))
	chat.AwaitMessage("the trace once more, of the answer", func(m botapi.Message) bool {
		return m.FromBot && m.ID > mine.ID && harness.ContainsAll(m.Text, append(parts, "reply delivered"))
	})
	chat.Send(anna, "/why")
	harness.Says(chat, "Anna Arden: echo later", "received")
	chat.Send(anna, "/why", botapi.ReplyingTo(mine.ID))
	harness.Says(chat, "not known which request this message belongs to")
	g.Balanced()
}

// What is to run now runs before the others, and instead of what runs.
func TestTelegramRunNow(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	chat.Send(anna, "tool 600000 long")
	runs(g, channelOf(chat), "long")
	chat.Send(anna, "echo first")
	chat.Send(anna, "echo second")
	g.Eventually("both wait", func() bool { return g.Channel(channelOf(chat)).Number("waiting") == 2 })
	chat.Send(anna, "/queue")
	list := harness.Says(chat, "2 messages are waiting")
	b, _ := list.Button("Run 2 now")
	told(t, api, chat.Tap(anna, list.ID, "Run 2 now"), "is next")
	answers(chat, "second") // with the other one, as always
	told(t, api, chat.TapStale(anna, list.ID, b.Data), "no longer waiting", "answered")
	harness.Becomes(t, api, chat, list.ID, "No message is waiting")
	g.Balanced()
}

// A restart is made once, and says that it begins and that it is over in the chat that
// has asked.
func TestTelegramRestart(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := harness.NewChatWith(t, nil)
	g := m.Start()
	sent := chat.Send(anna, "/restart")
	harness.Says(chat, "Restarting")
	back := harness.Says(chat, "Back after", "bareclaw")
	if back.ReplyTo != sent.MessageID {
		t.Errorf("it is a reply to %d", back.ReplyTo)
	}
	chat.Send(anna, "echo works")
	chat.AwaitText("works")
	g.Restarted(1)
	n := 0
	for _, m := range chat.FromBot() {
		if strings.Contains(m.Text, "Back after") || strings.Contains(m.Text, "Restarting") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d messages about the restart, want 2", n)
	}
	hangUp(g, 2)
	chat.Send(anna, "echo still")
	chat.AwaitText("still")
	if c := regexp.MustCompile("Back after").FindAllString(fmt.Sprint(chat.FromBot()), -1); len(c) != 1 {
		t.Errorf("it came back %d times", len(c))
	}
}

// In a group a command may be addressed, and each topic is a chat of its own.
func TestTelegramCommandsInGroupsAndTopics(t *testing.T) {
	t.Parallel()
	m, api, anna, _ := harness.NewChatWith(t, nil)
	forum := api.Forum(-1001234567890, "Team", anna)
	topic := forum.CreateTopic(anna, "Build")
	g := m.Start()
	forum.Send(anna, "/verbose@other_bot 0")
	forum.Send(anna, "/verbose 0", botapi.InTopic(topic))
	note := forum.AwaitMessage("an answer in the topic", func(m botapi.Message) bool { return m.FromBot && m.Thread == topic })
	if !strings.Contains(note.Text, "answers only") {
		t.Errorf("it says %q", note.Text)
	}
	forum.Send(anna, "/verbose@fake_bot")
	forum.AwaitMessage("the main chat's own", func(m botapi.Message) bool {
		return m.FromBot && m.Thread == 0 && strings.Contains(m.Text, "what Claude is doing")
	})
	forum.Tap(anna, note.ID, "2")
	harness.Becomes(t, api, forum, note.ID, "everything")
	forum.Send(anna, "echo in topic", botapi.InTopic(topic))
	forum.AwaitMessage("in topic", func(m botapi.Message) bool { return m.FromBot && m.Text == "in topic" && m.Thread == topic })
	forum.Send(anna, "/why", botapi.InTopic(topic))
	forum.AwaitMessage("the trace", func(m botapi.Message) bool {
		return m.FromBot && m.Thread == topic && strings.Contains(m.Text, "echo in topic") && strings.Contains(m.Text, "received")
	})
	for _, m := range forum.FromBot() {
		if strings.Contains(m.Text, "not a level") {
			t.Errorf("a command for another bot was answered: %q", m.Text)
		}
	}
	g.Balanced()
}
