package progress

import (
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
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
	if usd <= 0 {
		return ""
	}
	return humanize.USD(usd)
}
