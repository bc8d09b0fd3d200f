package crash

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
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

// TestTelegramCrashWithinARequest kills the daemon at a write, in a long run at every write, while
// a request of several messages is being sent: the buttons are below the last of them, and nowhere
// before all of it.
func TestTelegramCrashWithinARequest(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	const size, shown = 500, `\u{200B}`
	m, _, anna, chat := harness.NewChat(t)
	g := m.Start()
	round := func(n int) (killed bool) {
		before := len(chat.FromBot())
		chat.Send(anna, "wait "+m.Path(fmt.Sprint("go", n)))
		m.Eventually("a turn runs", func() bool { return m.Begun(m.Path(fmt.Sprint("go", n))) == 1 })
		end := fmt.Sprint("the end of ", n)
		chat.Send(anna, harness.Calling(t, "Bash", harness.Obj{"command": "true #" + strings.Repeat("\u200b", size) + "\n" + end}))
		m.Touch(fmt.Sprint("go", n))
		asked := func() []botapi.Message {
			return slices.DeleteFunc(slices.Clone(chat.FromBot()[before:]), func(m botapi.Message) bool { _, ok := m.Button("Allow"); return !ok })
		}
		tr := m.Trace(g.Worker(), fmt.Sprintf("%s,%s:signal=SIGKILL:when=%d", harness.Steps[0], harness.Steps[1], n))
		g.Eventually("the buttons, or the end", func() bool { return harness.Closed(g.Done) || len(asked()) > 0 })
		tr.Detach()
		if killed = g.Ended(); killed {
			g = m.Start()
		}
		g.Eventually("the buttons", func() bool { return len(asked()) > 0 })
		g.Delivered()
		var above strings.Builder
		for _, m := range chat.FromBot()[before:] {
			if m.ID < asked()[0].ID {
				above.WriteString(m.Text)
			}
		}
		if text := above.String(); strings.Count(text, shown) < size || !strings.HasSuffix(text, end) {
			t.Errorf("above the buttons are %d of %d characters; the end is %.40q", strings.Count(text, shown), size, text[max(0, len(text)-40):])
		}
		if extra := len(asked()) - 1; extra > 1 {
			t.Errorf("the question is there %d times too often", extra)
		}
		g.Must("POST", "/approvals/"+g.Asked(1)[0].Str("id"), harness.Obj{"behavior": "deny"}, 200)
		g.Eventually("the answer", func() bool { return harness.CountText(chat, "final: ") > 0 })
		g.Delivered()
		return killed
	}
	if harness.Soak() {
		everyStep(t, round)
	} else {
		kills := 0
		for n := 2; n <= 26; n += 4 { // each takes seconds: a chat gets a message a second
			if round(n) {
				kills++
			}
		}
		if kills < 3 {
			t.Errorf("%d rounds were killed", kills)
		}
	}
	g.Balanced()
	g.EndsAll()
}
