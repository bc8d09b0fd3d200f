package crash

import (
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestTelegramCrashBetweenParts kills the daemon at every write while an answer of
// several messages is being sent: all of it is there, in order, and at most the one
// part that was on its way twice.
func TestTelegramCrashBetweenParts(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	const parts, size = 2, 2 * 4096
	m, _, anna, chat := harness.NewChat(t)
	g := m.Start()
	everyStep(t, func(n int) (killed bool) {
		before := len(harness.Texts(chat))
		chat.Send(anna, "wait "+m.Path(fmt.Sprint("go", n)))
		m.Eventually("a turn runs", func() bool { return m.Begun(m.Path(fmt.Sprint("go", n))) == 1 })
		chat.Send(anna, fmt.Sprint("big ", size))
		m.Touch(fmt.Sprint("go", n))
		tr := m.Trace(g.Worker(), fmt.Sprintf("%s,%s:signal=SIGKILL:when=%d", harness.Steps[0], harness.Steps[1], n))
		g.Eventually("all parts, or the end", func() bool { // the daemon is not asked: it would write
			return harness.Closed(g.Done) || len(harness.Texts(chat))-before >= 1+parts
		})
		tr.Detach()
		if killed = g.Ended(); killed {
			g = m.Start()
		}
		g.Eventually("all parts", func() bool { return len(harness.Texts(chat))-before >= 1+parts })
		g.Delivered()
		got := harness.Texts(chat)[before:]
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
	g.Balanced()
	g.EndsAll()
}
