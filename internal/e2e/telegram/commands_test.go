package telegram

import (
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

func TestTelegramMenu(t *testing.T) {
	t.Parallel()
	m, api, _, _ := harness.NewChatWith(t, nil)
	api.Script("setMyCommands", 0, botapi.InternalError())
	g := m.Start()
	want := []string{"new", "stop", "status", "queue", "model", "mode", "usage", "verbose", "rules", "why", "tools", "mounts", "restart", "help"}
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
	c := newTalk(t)
	c.ask("/new", "nothing to forget")
	c.ask("echo one", "one")
	c.ask("/new", "Forgotten")
	if history := c.ask("history", "["); strings.Contains(history.Text, "echo one") {
		t.Errorf("the history has what came before: %q", history.Text)
	}
	running := c.works("tool 600000 long")
	waiting := c.waits(1, "echo never")
	c.send("/new@" + "other_bot")
	c.ask("/new", "Forgotten")
	for _, id := range []int{running.MessageID, waiting.MessageID} {
		c.chat.AwaitMessage("what became of a message", func(m botapi.Message) bool {
			return m.ReplyTo == id && m.Text == "⏹ The conversation was closed before this message was answered."
		})
	}
	c.ends(7)
	if c.Begun("never") != 0 {
		t.Error("a cancelled message ran")
	}
}

func TestTelegramStop(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.ask("/stop", "Nothing is running")
	c.ask("echo before", "before")
	long := c.works("tool 600000 long")
	late := harness.Lateness()
	if m := c.ask("/stop", "⏹ Stopped within", "kept"); m.ReplyTo != long.MessageID {
		t.Errorf("it is a reply to %d, not to the message that was stopped", m.ReplyTo)
	}
	newestStoppedWithin(c.Gateway, c.key(), harness.Promised, late())
	c.ends(3)
	c.ask("history", "echo before", "long")
	c.Balanced()
}

// An agent that does not listen is ended; until then it is said that this goes on.
func TestTelegramStopOfADeafAgent(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.works("mute")
	c.waits(1, "echo next")
	ids := c.History(c.key()) // the newest first
	late := harness.Lateness()
	note := c.ask("/stop", "Stopping…") // before the turn has ended
	c.says("⏹ Stopped within", "kept", "1 message is waiting and comes next")
	c.StoppedWithin(ids[len(ids)-1], harness.Promised, late())
	c.chat.AwaitGone(note.ID)
	answers(c.chat, "next")
	c.ends(2)
}

// A turn whose outcome does not come to the chat is answered by the command itself.
func TestTelegramStopOfAnothersTurn(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.Tell("tg-7", "tool 600000 long")
	c.Eventually("it runs", func() bool { return c.Begun("long") > 0 })
	sent := c.send("/stop")
	if note := c.says("Stopped within", "kept"); note.ReplyTo != sent.MessageID {
		t.Errorf("the answer is a reply to %d, not to the command", note.ReplyTo)
	}
	c.ends(1)
}

// A daemon that is killed while it stops a turn leaves no word of that behind.
func TestTelegramStopAndKill(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.works("mute")
	note := c.ask("/stop", "Stopping…")
	c.Delivered() // else it may be there twice
	c.again()
	c.chat.AwaitGone(note.ID)
	c.says("⏹ ")
	c.ends(1)
}

// TestTelegramTools: a chat sees the tools that it has, and the same is said over HTTP.
func TestTelegramTools(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.Command(0, "tools", "new", "turn_round")
	c.Must("POST", "/toolhost/reload", nil)
	c.ask("/tools", "Claude has ", "builtin (", "dynamic (1): turn_round", "gateway (", "tool_search")
	c.ask("/tools reversing of texts", "turn_round (dynamic): Reverse a text.")
	c.ask("/tools turn_round", "Reverse a text.", "From: dynamic", "Asks: nobody", "Parameters: 1", "text (string, required): the text to reverse")
	answer := c.Must("POST", "/channels/"+harness.Escaped(c.key())+"/commands", map[string]string{"text": "/tools channel_send"})
	if said := answer.Str("text"); !strings.Contains(said, "**From**: gateway\n**For**: orchestration\n") {
		t.Errorf("over HTTP it says %q", said)
	}
	c.Command(0, "channels", "set", c.key(), "--tools", "channel_list")
	c.ask("/tools", "Claude has 3 tools of the gateway", "channel_list")
	c.ask("/tools turn_round", "No tool that Claude has in this chat has any of these words: turn_round. /tools lists all.")
}

func TestTelegramStatusAndUsage(t *testing.T) {
	t.Parallel()
	c := newTalk(t, "BARECLAW_DAILY_BUDGET_USD=100", harness.Noon())
	c.ask("echo one", "one")
	c.ask("/status", "Now: idle", "Waiting: nothing", "Model: as configured for the gateway", "1 turn", "Session: ", "Gateway: bareclaw", "claude")
	c.works("tool 600000 long")
	c.send("echo two")
	c.ask("/status", "Now: working for", "Waiting: 1 message")
	c.ask("/usage", "This chat today: $0.0", "1 turn", "of $100.00 a day")
}

func TestTelegramQueue(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.ask("/queue", "No message is waiting")
	c.works("toolwait " + c.Path("go"))
	first := c.send("echo *first*")
	c.waits(2, "echo second")
	list := c.ask("/queue", "2 messages are waiting", "1. Anna Arden: echo *first*", "2. Anna Arden: echo second")
	c.tap(list, "Drop 1", "Dropped")
	list = c.becomes(list, "1 message is waiting", "1. Anna Arden: echo second")
	c.chat.AwaitMessage("what became of the dropped message", func(m botapi.Message) bool {
		return m.ReplyTo == first.MessageID && m.Text == "⏹ Cancelled before it was begun."
	})
	if strings.Contains(list.Text, "first") {
		t.Errorf("the list is still %q", list.Text)
	}
	b, _ := list.Button("Drop 1")
	c.Touch("go")
	answers(c.chat, "second")
	c.tapData(list, b.Data, "no longer waiting", "answered")
	c.becomes(list, "No message is waiting")
	if c.Begun("*first*") != 0 {
		t.Error("a dropped message ran")
	}
	c.Balanced()
}

// Who declines bypassPermissions keeps the mode that the chat had, whether the question
// came from a command or from a button, and also where the mode has changed meanwhile.
func TestTelegramBypassIsDeclined(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	mode := func(want string) {
		t.Helper()
		if got := c.Channel(c.key()).Str("permission_mode"); got != want {
			t.Errorf("the mode is %q, want %q", got, want)
		}
	}
	q := c.ask("/mode bypassPermissions", "Careful")
	c.tap(q, "No, keep the mode")
	c.becomes(q, "permission mode is still as configured for the gateway")
	c.ask("/mode", "permission mode of this chat is as configured for the gateway")

	list := c.ask("/mode plan", "From the next turn on the permission mode is plan")
	c.tap(list, "bypassPermissions")
	list = c.becomes(list, "Careful")
	c.tap(list, "No, keep the mode")
	list = c.becomes(list, "The permission mode is still plan")
	if _, ok := list.Button("✓ plan"); !ok {
		t.Errorf("plan is not marked: %v", list.Buttons)
	}
	mode("plan")

	c.tap(list, "bypassPermissions")
	list = c.becomes(list, "Careful")
	c.ask("/mode acceptEdits", "From the next turn on the permission mode is acceptEdits")
	c.tap(list, "No, keep the mode")
	c.becomes(list, "The permission mode is still acceptEdits")
	mode("acceptEdits")
	c.Balanced()
}

func TestTelegramModelAndMode(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	note := c.ask("/model", "The model of this chat is as configured for the gateway")
	c.tap(note, "haiku")
	note = c.becomes(note, "From the next turn on the model is haiku")
	if _, ok := note.Button("✓ haiku"); !ok {
		t.Errorf("haiku is not marked: %v", note.Buttons)
	}
	c.ask("args", `"--model","haiku"`)
	c.ask("/model two words", "two words is not the name of a model", "opus")
	c.ask("/model opus", "From the next turn on the model is opus")
	c.tap(note, "default")
	c.becomes(note, "From the next turn on the model is as configured for the gateway")

	c.ask("/mode sometimes", "sometimes is not a permission mode", "acceptEdits", "plan")
	mode := c.ask("/mode plan", "From the next turn on the permission mode is plan")
	c.ask("args", `"--permission-mode","plan"`)
	c.tap(mode, "bypassPermissions")
	c.becomes(mode, "Careful", "nobody is asked")
	c.ask("/status", "Mode: plan")
	c.tap(mode, "Yes, bypass permissions")
	c.becomes(mode, "From the next turn on the permission mode is bypassPermissions")
	c.Balanced()
}

// The model that claude says it uses is named, besides what is set.
func TestTelegramModelInUse(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.ask("echo one", "one")
	if first := c.ask("/status", "Model: as configured for the gateway (in use: "); strings.Contains(first.Text, "in use: haiku") {
		t.Errorf("before that was set it says %q", first.Text)
	}
	c.ask("/model", "The model of this chat is as configured for the gateway (in use: ")
	c.ask("/model haiku", "From the next turn on the model is haiku")
	c.ask("echo two", "two")
	c.ask("/status", "Model: haiku (in use: haiku)")
	c.Balanced()
}

func TestTelegramVerbose(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.ask("/verbose 3", "3 is not a level", "0 (answers only)")
	note := c.ask("/verbose 2", "From now on", "everything")
	c.tap(note, "0")
	c.becomes(note, "answers only")
	c.again()
	c.ask("/verbose", "Shown here: answers only")
}

func TestTelegramHelp(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.ask("/start", "This is BAREclaw", "/help")
	c.ask("/help", "/queue – waiting messages", "/compact")
	c.ask("/context", "fakeclaude has no context") // Claude's own command: the gateway must have none of this name
	c.Balanced()
}

func TestTelegramWhy(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.ask("/why", "Claude has not received a message")
	first := c.send("tool 0 ls")
	answer := c.says("final: ran: ls")
	c.ask("echo later", "later")
	parts := []string{"Anna Arden: tool 0 ls", "received", "handed to Claude", "Bash: ls", "answered after"}
	c.send("/why", botapi.ReplyingTo(first.MessageID))
	mine := c.says(parts...)
	c.send("/why", botapi.ReplyingTo(answer.ID))
	c.chat.AwaitMessage("the trace once more, of the answer", func(m botapi.Message) bool {
		return m.FromBot && m.ID > mine.ID && harness.ContainsAll(m.Text, append(parts, "reply delivered"))
	})
	c.ask("/why", "Anna Arden: echo later", "received")
	c.send("/why", botapi.ReplyingTo(mine.ID))
	c.says("not known which request this message belongs to")
	c.Balanced()
}

// What is to run now runs before the others, and instead of what runs.
func TestTelegramRunNow(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.works("tool 600000 long")
	c.send("echo first")
	c.waits(2, "echo second")
	list := c.ask("/queue", "2 messages are waiting")
	b, _ := list.Button("Run 2 now")
	c.tap(list, "Run 2 now", "is next")
	answers(c.chat, "second") // with the other one, as always
	c.tapData(list, b.Data, "no longer waiting", "answered")
	c.becomes(list, "No message is waiting")
	c.Balanced()
}

// A restart is made once, and says that it begins and that it is over in the chat that
// has asked.
func TestTelegramRestart(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	sent := c.send("/restart")
	c.says("Restarting")
	if back := c.says("Back after", "bareclaw"); back.ReplyTo != sent.MessageID {
		t.Errorf("it is a reply to %d", back.ReplyTo)
	}
	c.ask("echo works", "works")
	c.Restarted(1)
	hangUp(c.Gateway, 2)
	c.ask("echo still", "still")
	c.ends(4)
}

// In a group a command may be addressed, and each topic is a chat of its own.
func TestTelegramCommandsInGroupsAndTopics(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	forum := c.api.Forum(-1001234567890, "Team", c.anna)
	topic := forum.CreateTopic(c.anna, "Build")
	c = c.in(forum)
	inTopic := func(texts ...string) botapi.Message {
		return forum.AwaitMessage("an answer in the topic", func(m botapi.Message) bool {
			return m.FromBot && m.Thread == topic && harness.ContainsAll(m.Text, texts)
		})
	}
	c.send("/verbose@other_bot 0")
	c.send("/verbose 0", botapi.InTopic(topic))
	note := inTopic("answers only")
	if main := c.ask("/verbose@fake_bot", "what Claude is doing"); main.Thread != 0 {
		t.Errorf("the main chat is answered in topic %d", main.Thread)
	}
	c.tap(note, "2")
	c.becomes(note, "everything")
	c.send("echo in topic", botapi.InTopic(topic))
	inTopic("in topic")
	c.send("/why", botapi.InTopic(topic))
	inTopic("echo in topic", "received")
	if n := len(harness.Written(forum)); n != 4 {
		t.Errorf("%d messages: a command for another bot was answered", n)
	}
	c.Balanced()
}
