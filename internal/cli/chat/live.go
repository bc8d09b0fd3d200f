package chat

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// shrinkAfter is how long fewer rows must suffice before the live rows shrink: some frames.
const shrinkAfter = 100 * time.Millisecond

// A live is the height of the rows below the scrollback. Bubble Tea (v2.0.10) leaves a row
// behind for good if the cursor was below the last row of a smaller frame. Therefore
// superfluous rows are first drawn empty below the prompt, and removed after the next frame.
type live struct {
	rows   int // number of drawn rows
	wanted int // number of needed rows
	change int // number of changes of wanted
}

// A shrink asks to remove superfluous rows if live.change is still the value of the shrink.
type shrink int

// fit sets the number of needed rows.
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

// shrink removes superfluous rows unless wanted has changed in the meantime.
func (l *live) shrink(then shrink) {
	if int(then) == l.change {
		l.rows = l.wanted
	}
}

// fill appends the empty rows.
func (l *live) fill(content string) string {
	return content + strings.Repeat("\n", max(0, l.rows-l.wanted))
}
