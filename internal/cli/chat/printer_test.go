package chat

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"bareclaw/core"
	"bareclaw/internal/term"
)

// TestPrinted has what is heard be printed in its order, one part at a time, none taller
// than the terminal, and the chat end when all of it is.
func TestPrinted(t *testing.T) {
	t.Parallel()
	m := newModel(t.Context(), &gateway{}, arrival{}, term.DefaultColumns)
	m.update(tea.WindowSizeMsg{Width: term.DefaultColumns, Height: 10})
	first := m.heard(core.Update{Detail: "row 0"})
	for i := range 3 {
		tall := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("row %d\n\n", i+1), 20), "\n")
		if cmd := m.print([]line{{asClaude, tall}}); cmd != nil {
			t.Fatal("two commands print at the same time")
		}
	}
	if m.leave() != nil {
		t.Fatal("it leaves before all is printed")
	}
	m.heard(core.Update{Detail: "too late"})
	parts := strings.Split(played(m, first), "{")
	var got []string
	for _, p := range parts[1:] { // as the library's type is shown
		rows := strings.Split(p[:strings.LastIndex(p, "}")], "\n")
		if len(rows) > 5 {
			t.Errorf("%d rows at once: %q", len(rows), rows)
		}
		got = append(got, rows...)
	}
	last := 0
	for _, row := range got {
		var n int
		if _, err := fmt.Sscanf(strings.TrimLeft(row, "· \x1b[2m"), "row %d", &n); err == nil && n < last {
			t.Fatalf("row %d is below row %d", n, last)
		} else if err == nil {
			last = n
		}
	}
	if all := strings.Join(got, "\n"); last != 3 || len(got) < 1+3*39 || strings.Contains(all, "too late") || !m.leaving {
		t.Errorf("%d rows are printed, leaving %v:\n%s", len(got), m.leaving, all)
	}
}

// TestLongText streams a text that is too long to be drawn whole for each of its words.
func TestLongText(t *testing.T) {
	t.Parallel()
	m := newModel(t.Context(), &gateway{}, arrival{}, term.DefaultColumns)
	m.talk.take(started("t1", "m1"))
	line := func(event string) core.Update {
		return core.Update{Kind: core.UpdateEvent, Turn: "t1", Raw: []byte(`{"type":"stream_event","event":` + event + `}`)}
	}
	m.Update(line(`{"type":"message_start","message":{"id":"m"}}`))
	m.Update(line(`{"type":"content_block_start","index":0,"content_block":{"type":"text"}}`))
	say := func(text string) string {
		m.Update(line(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`))
		return m.View().Content
	}
	say(strings.Repeat("wörter ", 30<<10))
	if got := say("the end"); !strings.Contains(got, "the end") || strings.Contains(got, "\uFFFD") {
		t.Errorf("it shows %q", got)
	}
	text := m.talk.fold.View().Text
	if n := len(lastOf(text)); n > 16<<10 || !strings.HasSuffix(text, lastOf(text)) {
		t.Errorf("%d bytes of %d are drawn", n, len(text))
	}
	if short := "short"; lastOf(short) != short {
		t.Errorf("of a short text it draws %q", lastOf(short))
	}
}

// TestLive has rows go only when it was seen for a while that they are not needed.
func TestLive(t *testing.T) {
	t.Parallel()
	var l live
	want := func(rows int, content string) {
		t.Helper()
		if got := l.fill("x"); l.rows != rows || got != content {
			t.Errorf("%d rows, want %d: %q", l.rows, rows, got)
		}
	}
	if l.fit(3) != nil {
		t.Error("it grows later")
	}
	want(3, "x")
	later := l.fit(1)
	want(3, "x\n\n")
	if l.fit(1) != nil {
		t.Error("it shrinks twice")
	}
	l.fit(2) // before it was drawn
	l.shrink(later().(shrink))
	want(3, "x\n")
	again := l.fit(1)
	l.shrink(again().(shrink))
	want(1, "x")
}
