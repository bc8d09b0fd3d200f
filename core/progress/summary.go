package progress

import (
	"fmt"
	"time"

	"bareclaw/core"
)

// briefly is how long a turn without tools may take that nothing is to be said of.
const briefly = 10 * time.Second

// summary says in one line how the turn ended. It is empty for a short turn without
// tools, whose reply says it all; that somebody stopped a turn is always told.
func (t *turn) summary() string {
	how := "Done in "
	switch t.end.state {
	case core.Cancelled:
		how = "Stopped after "
	case core.Failed:
		how = "Failed after "
	default:
	}
	if t.end.state != core.Cancelled && t.tools == 0 && t.end.took < briefly {
		return ""
	}
	return joined(how+clock(t.end.took), counted(t.tools, "tool"), dollars(t.end.cost))
}

func dollars(usd float64) string {
	switch {
	case usd <= 0:
		return ""
	case usd < 0.01:
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", usd)
}
