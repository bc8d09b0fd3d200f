package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestTelegramCrashBetweenParts kills the daemon at every write while an answer of
// several messages is being sent: all of it is there, in order, and at most the one
// part that was on its way twice.
func TestTelegramCrashBetweenParts(t *testing.T) {
	t.Parallel()
	needStrace(t)
	const parts, size = 3, 3 * 4096
	for _, calls := range []string{steps[0], steps[1]} {
		t.Run(calls, func(t *testing.T) {
			t.Parallel()
			m, _, anna, chat := newChat(t)
			g := m.start()
			everyStep(t, func(n int) (killed bool) {
				before := len(texts(chat))
				chat.Send(anna, "wait "+m.path(fmt.Sprint("go", n)))
				m.eventually("a turn runs", func() bool { return m.begun(m.path(fmt.Sprint("go", n))) == 1 })
				chat.Send(anna, fmt.Sprint("big ", size))
				m.touch(fmt.Sprint("go", n))
				tr := m.trace(g.cmd.Process.Pid, fmt.Sprintf("%s:signal=SIGKILL:when=%d", calls, n))
				g.eventually("all parts, or the end", func() bool {
					_, err := g.do("GET", "/health", nil)
					return err != nil || len(texts(chat))-before >= 1+parts
				})
				tr.detach()
				if killed = g.ended(); killed {
					g = m.start()
				}
				g.eventually("all parts", func() bool { return len(texts(chat))-before >= 1+parts })
				g.delivered()
				got := texts(chat)[before:]
				if !strings.HasPrefix(got[0], "waited for ") {
					t.Errorf("the first is %.40q", got[0])
				}
				if extra := len(got) - 1 - parts; extra > 1 {
					t.Errorf("there are %d parts too many", extra)
				}
				if whole := strings.Count(strings.Join(got, ""), "x"); whole < size {
					t.Errorf("of %d bytes %d came", size, whole)
				}
				return killed
			})
			g.balanced()
			g.endsAll()
		})
	}
}
