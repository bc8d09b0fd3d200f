package e2e

import (
	"os"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/exitcode"
)

// TestSendPushes reaches people, from a terminal with --push and from within a session
// without.
func TestSendPushes(t *testing.T) {
	t.Parallel()
	p := newPushTest(t)
	const key = "tg-7"
	p.command(exitcode.OK, "send", "--push", key, "**one**").prints("Sent to " + key + ".\n")
	p.chat.AwaitText("one")
	if a := p.command(exitcode.OK, "send", "--push", key, "two", "--json").document(); a.str("status") != "sent" {
		t.Errorf("the push says %s", a.body)
	}
	p.chat.AwaitText("two")
	in := *p.machine
	in.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.path("home"), client.SocketVariable + "=" + p.sock}
	in.command(exitcode.OK, "send", key, "- a list").prints("Sent to " + key + ".\n")
	in.invoke(strings.NewReader("from the input\n"), "send", key, "-").wait(exitcode.OK)
	p.chat.AwaitText("from the input")
	p.file("chart.png", somePicture(t))
	in.command(exitcode.OK, "send", key, "a picture", "--file", "chart.png") // in the command's own directory
	p.file("notes.txt", []byte("notes"))
	p.command(exitcode.OK, "send", key, "--file", p.path("work/notes.txt"))
	p.command(exitcode.Failed, "send", "--push", "tg-8", "to a stranger").prints("").tells("bareclaw: ")
	p.command(exitcode.OK, "status").shows("telegram", "@", "0 deliveries pending")
	if n := len(p.journal()); n != 0 {
		t.Errorf("the agent was asked: %v", p.journal())
	}
}
