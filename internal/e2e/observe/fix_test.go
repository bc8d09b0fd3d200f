package observe

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

// TestFixRounds: what is found is told in the chat once, and the agent asked to fix it three times, however often observer and
// gateway are killed; then people are told that nobody is asked again.
func TestFixRounds(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t, appVariable+"=plain")
	m := &machine{p.Machine}
	t.Cleanup(m.end)
	m.mark()
	flags := []string{"--channel", "tg-7", "--notify", "fix"}
	o := m.observe(flags...)
	r := m.answers(0)
	m.said(o, "its agent is asked to fix them, which costs money")
	m.get(r, "/secret")
	p.Chat.AwaitMessage("the problem", about("GET /secret"))
	m.Begins("Fix the findings")

	check.OK(t, proc.Signal(r.PID, r.Start, syscall.SIGKILL))
	p.Kill()
	m.observe(flags...)
	r = m.answers(r.PID)
	m.get(r, "/secret")
	m.Start()
	m.Eventually("nobody is asked again", func() bool {
		res, err := http.Get(r.Proxy + "/secret")
		check.OK(t, err)
		_ = res.Body.Close()
		return len(pushes(p.Chat, "not fixed in 3 attempts")) > 0
	})
	if told := pushes(p.Chat, "problem in"); len(told) != 2 {
		t.Errorf("told: %q", told)
	}
	if n := m.Begun("Fix the findings"); n != 3 {
		t.Errorf("the agent was asked %d times", n)
	}
}

// about reports whether a message has some words.
func about(words string) func(botapi.Message) bool {
	return func(m botapi.Message) bool { return strings.Contains(m.Text, words) }
}

// pushes returns the texts with some words that the bot has sent.
func pushes(c *botapi.Chat, words string) []string {
	var texts []string
	for _, m := range c.FromBot() {
		if about(words)(m) {
			texts = append(texts, m.Text)
		}
	}
	return texts
}
