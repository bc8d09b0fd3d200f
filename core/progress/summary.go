package progress

import (
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// briefly bounds the duration of a turn without tools that needs no summary.
const briefly = 10 * time.Second

// summary describes the end of the turn in a line. The summary is empty for a short turn
// without tools, whose reply says everything; a stop is always reported.
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
