package command

import (
	"os"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
)

// TestSendPushes reaches people, from a terminal with --push and from within a session
// without.
func TestSendPushes(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	const key = "tg-7"
	p.Command(exitcode.OK, "send", "--push", key, "**one**").Prints("Sent to " + key + ".\n")
	p.Chat.AwaitText("one")
	if a := p.Command(exitcode.OK, "send", "--push", key, "two", "--json").Document(); a.Str("status") != "sent" {
		t.Errorf("the push says %s", a.Body)
	}
	p.Chat.AwaitText("two")
	in := *p.Machine
	in.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.Path("home"), client.SocketVariable + "=" + p.Sock}
	in.Command(exitcode.OK, "send", key, "- a list").Prints("Sent to " + key + ".\n")
	in.Invoke(strings.NewReader("from the input\n"), "send", key, "-").Wait(exitcode.OK)
	p.Chat.AwaitText("from the input")
	p.File("chart.png", harness.SomePicture(t))
	in.Command(exitcode.OK, "send", key, "a picture", "--file", "chart.png") // in the command's own directory
	p.File("notes.txt", []byte("notes"))
	p.Command(exitcode.OK, "send", key, "--file", p.Path("work/notes.txt"))
	p.Command(exitcode.Failed, "send", "--push", "tg-8", "to a stranger").Prints("").Tells("bareclaw: ")
	p.Command(exitcode.OK, "status").Shows("telegram", "ready, bot ", "last poll ")
	if n := len(p.Journal()); n != 0 {
		t.Errorf("the agent was asked: %v", p.Journal())
	}
}
