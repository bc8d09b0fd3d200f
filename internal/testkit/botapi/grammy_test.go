package botapi_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/npm"
)

// startGrammy runs the bot of testdata until the test ends, which fails if it
// does not end well.
func startGrammy(t *testing.T, s *botapi.Server, report *botapi.Chat) {
	t.Helper()
	modules := npm.Modules(t, "grammy", os.DirFS("testdata/grammy"), "BARECLAW_REQUIRE_GRAMMY")
	cmd := exec.Command("node", "testdata/grammy/bot.cjs")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NODE_PATH=" + modules,
		"FAKE_URL=" + s.URL(), "FAKE_TOKEN=" + s.Token(), fmt.Sprintf("REPORT_CHAT=%d", report.ID())}
	cmd.WaitDelay = time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill := time.AfterFunc(botapi.Patience, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if t.Failed() {
			_ = cmd.Process.Kill()
		}
		_ = stdin.Close() // asks it to end
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("the grammY bot: %v\n%s", err, &output)
		}
	})
}

func TestGrammY(t *testing.T) {
	t.Parallel()
	s := botapi.New(t, botapi.WithoutRates())
	anna := s.User(7, "Anna", "Arden", "anna")
	chat := s.Private(anna)
	report := s.Private(s.User(8, "Owner", "", ""))
	startGrammy(t, s, report)
	report.AwaitText("I am fake_bot") // getMe and the first poll
	if got := s.Commands(); !slices.Equal(got, []string{"buttons"}) {
		t.Errorf("commands %q", got)
	}

	hello := chat.Send(anna, "hello")
	if m := chat.AwaitText("ok: hello"); m.ReplyTo != hello.MessageID {
		t.Errorf("the echo %v answers message %d", m, m.ReplyTo)
	}
	chat.Edit(anna, hello.MessageID, "hello again")
	chat.AwaitText("edited: hello again")

	chat.Send(anna, "/buttons")
	menu := chat.AwaitText("Choose")
	tap := chat.Tap(anna, menu.ID, "Blue")
	chosen := chat.AwaitText("You chose colour:blue")
	if a, _ := tap.Answer(); chosen.ID != menu.ID || chosen.Edits != 1 || len(chosen.Buttons) != 0 || len(chosen.Entities) != 1 || a != "Noted" {
		t.Errorf("after the tap: %v, answer %+v", chosen, a)
	}
	chat.Send(anna, "/twice")
	report.AwaitText("Bad Request: message is not modified")

	forum := s.Forum(-100400, "Forum", anna)
	topic := forum.CreateTopic(anna, "Work")
	forum.Send(anna, "in a topic", botapi.InTopic(topic))
	if m := forum.AwaitText("ok: in a topic"); m.Thread != topic {
		t.Errorf("the echo is in thread %d, not %d", m.Thread, topic)
	}

	data := []byte(strings.Repeat("0123456789", 1000))
	chat.Send(anna, "turn it", botapi.WithMedia(botapi.Document("digits.txt", "text/plain", data)))
	back := chat.AwaitMessage("reversed file", func(m botapi.Message) bool { return m.FromBot && m.Media != nil })
	slices.Reverse(data)
	if !bytes.Equal(back.Media.Data, data) || back.Media.Name != "reversed.bin" || back.Text != "turn it" {
		t.Errorf("got %v", back)
	}

	chat.Send(anna, "/draft")
	s.Await(t, "draft", func() bool { _, ok := chat.Draft(0); return ok })
	chat.StopDraft(0)
	report.AwaitText("stopped draft 5")

	s.Script("sendMessage", chat.ID(), botapi.TooMany(3))
	chat.Send(anna, "/flood")
	report.AwaitText("flood 429 3 Too Many Requests: retry after 3")
}
