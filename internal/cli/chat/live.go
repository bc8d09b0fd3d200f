package chat

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// shrinkAfter is how long fewer rows must do before there are fewer: some frames.
const shrinkAfter = 100 * time.Millisecond

// A live is how tall the rows below the scrollback are. Bubble Tea (v2.0.10) leaves a row
// behind for good when the cursor was below all that a smaller frame has. So what is not
// needed any more is empty rows below the prompt first, and goes when that was drawn.
type live struct {
	rows   int // how many are drawn
	wanted int // how many are needed
	change int // counts how often that has changed
}

// A shrink says that nothing has changed for a while; it holds the count of then.
type shrink int

// fit takes up how many rows are needed.
func (l *live) fit(rows int) tea.Cmd {
	if rows == l.wanted {
		return nil
	}
	l.wanted = rows
	l.change++
	if rows >= l.rows {
		l.rows = rows
		return nil
	}
	now := shrink(l.change)
	return tea.Tick(shrinkAfter, func(time.Time) tea.Msg { return now })
}

// shrink leaves out the rows that are not needed, if that is so still.
func (l *live) shrink(then shrink) {
	if int(then) == l.change {
		l.rows = l.wanted
	}
}

// fill adds the empty rows.
func (l *live) fill(content string) string {
	return content + strings.Repeat("\n", max(0, l.rows-l.wanted))
}
