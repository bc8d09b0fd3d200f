package telegram

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// fromBot finds a message of the bot that begins with a text.
func fromBot(text string) func(botapi.Message) bool {
	return func(m botapi.Message) bool { return m.FromBot && strings.HasPrefix(m.Text, text) }
}

// stoppable finds a message with a button that stops a turn.
func stoppable(m botapi.Message) bool {
	_, there := m.Button("⏹ Stop")
	return m.FromBot && there
}

// TestTelegramQuickAnswer shows nothing but the answer.
func TestTelegramQuickAnswer(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	for n := range 20 {
		shown, typed := len(c.chat.FromBot()), len(c.api.Calls("sendChatAction"))
		text, sent := fmt.Sprintf("hello %d.", n), time.Now()
		c.ask(text, "ok: "+text)
		if time.Since(sent) >= 2*time.Second {
			settled(c.Machine, c.api, c.chat)
			continue // on a busy machine it is no quick one
		}
		if got := c.chat.FromBot()[shown:]; len(got) != 1 || got[0].Text != "ok: "+text {
			t.Errorf("the chat has %v", got)
		}
		if calls := c.api.Calls("sendChatAction"); len(calls)-typed > 1 { // none if the answer overtook it
			t.Errorf("actions: %v", calls)
		}
		return
	}
	t.Fatal("no answer was quick")
}

// TestTelegramStatus shows what a turn does in one message, which then says how it
// went: after two seconds, and not more often than is humane.
func TestTelegramStatus(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	sent := time.Now()
	c.send("toolwait " + c.Path("go"))
	status := c.chat.AwaitMessage("a status", stoppable)
	if late := time.Since(sent); late < 2*time.Second {
		t.Errorf("the status comes after %s", late)
	}
	begin := "Bash: wait for " + c.Path("")[:10]
	status = c.chat.AwaitMessage("a status with the call and the time", func(m botapi.Message) bool {
		return m.ID == status.ID && strings.HasPrefix(m.Text, begin) && clock(m.Text) != ""
	})
	c.api.Await(t, "typing is shown beside the status", func() bool { return c.chat.Action(0) == "typing" })
	c.chat.AwaitMessage("a status with a later time", func(m botapi.Message) bool {
		return m.ID == status.ID && strings.HasPrefix(m.Text, begin) && clock(m.Text) > clock(status.Text)
	})
	c.Touch("go")
	c.chat.AwaitMessage("the answer", fromBot("final: ran: "))
	c.chat.AwaitMessage("a summary", func(m botapi.Message) bool {
		return m.ID == status.ID && strings.HasPrefix(m.Text, "Done in 0:") && strings.HasSuffix(m.Text, " · 1 tool · $0.01") && len(m.Buttons) == 0
	})
	if all := c.chat.FromBot(); len(all) != 2 {
		t.Errorf("the chat has %v", all)
	}
	if n, took := len(c.api.Calls("editMessageText")), time.Since(sent); n > 2+int(took/(3*time.Second)) {
		t.Errorf("it was edited %d times in %s", n, took)
	}
}

var elapsed = regexp.MustCompile(` · (\d:\d\d)`)

// clock returns for how long a turn runs, as its status says; empty if that says nothing.
func clock(status string) string {
	if found := elapsed.FindStringSubmatch(status); found != nil {
		return found[1]
	}
	return ""
}

// TestTelegramPermissionAwaited shows that a permission is waited for, and by whom: nobody
// types.
func TestTelegramPermissionAwaited(t *testing.T) {
	t.Parallel()
	c := newTalk(t, "BARECLAW_APPROVALS=ask")
	c.send("tool 1 ask me")
	id := c.Asked(1)[0].Str("id")
	status := c.chat.AwaitMessage("a status", fromBot("Waiting for permission: Bash: ask me"))
	typed := len(c.api.Calls("sendChatAction"))
	c.chat.AwaitMessage("the status goes on", func(now botapi.Message) bool { return now.ID == status.ID && now.Edits > 0 })
	if n := len(c.api.Calls("sendChatAction")); n > typed+1 { // with the status
		t.Errorf("typing was shown %d times", n)
	}
	c.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "allow"}, 200)
	c.chat.AwaitText("final: ran: ask me")
}

// TestTelegramEverything shows each call of a tool where that is wanted, at once.
func TestTelegramEverything(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := harness.NewChatWith(t, nil)
	prefer(m, "tg-7", 2)
	m.Start()
	chat.Send(anna, "toolwait "+m.Path("go"))
	status := chat.AwaitMessage("the call", fromBot("▸ Bash: wait for "))
	m.Touch("go")
	chat.AwaitText("final: ran: ")
	chat.AwaitMessage("the call and a summary", func(now botapi.Message) bool {
		lines := strings.Split(now.Text, "\n")
		return now.ID == status.ID && len(lines) == 2 && strings.HasPrefix(lines[0], "✓ Bash: wait for ") && strings.HasPrefix(lines[1], "Done in ")
	})
}

// TestTelegramInterim says what claude says on its way, and shows what it changes, in
// messages of their own.
func TestTelegramInterim(t *testing.T) {
	t.Parallel()
	for verbose, want := range map[int][]string{
		0: {"final: ran: wait for FILE", "edited /x/a.go"},
		1: {"I look first.", "final: ran: wait for FILE", "Edit: /x/a.go\n- one\n+ two", "edited /x/a.go"},
	} {
		t.Run(string(rune('0'+verbose)), func(t *testing.T) {
			t.Parallel()
			m, _, anna, chat := harness.NewChatWith(t, nil)
			prefer(m, "tg-7", verbose)
			m.Touch("go")
			m.Start()
			chat.Send(anna, "interim "+m.Path("go")+" I look first.")
			chat.AwaitText("final: ")
			chat.Send(anna, "edit 1 /x/a.go")
			chat.AwaitText("edited ")
			got := harness.Texts(chat)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], m.Path("go"), "FILE")
			}
			if !slices.Equal(got, want) {
				t.Errorf("the chat has %q, want %q", got, want)
			}
		})
	}
}

// prefer chooses how much is shown on a channel. No daemon runs.
func prefer(m *harness.Machine, channel string, verbose int) {
	m.T.Helper()
	l, err := sqlite.Open(m.Path("state/ledger.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		m.T.Fatal(err)
	}
	doc, _ := json.Marshal(map[string]int{"verbose": verbose}) // always marshals
	written := make(chan error, 1)
	l.Write(core.Change{Records: []*core.Record{{Owner: "telegram", Key: "setting:" + channel, Doc: doc, At: time.Now()}}}, func(err error) { written <- err })
	if err := <-written; err != nil {
		m.T.Fatal(err)
	}
	if err := l.Close(); err != nil {
		m.T.Fatal(err)
	}
}
