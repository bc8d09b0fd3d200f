package progress

import (
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// briefly bounds the duration of a turn without tools that needs no summary.
const briefly = 10 * time.Second

// An end describes the end of a turn.
type end struct {
	state core.State
	took  time.Duration
	cost  float64
}

// summary describes the end of a turn in a line. The summary is empty for a short turn
// without tools, whose reply says everything; a stop is always reported.
func (e *end) summary(tools int) string {
	how := "Done in "
	switch e.state {
	case core.Cancelled:
		how = "Stopped after "
	case core.Failed:
		how = "Failed after "
	default:
	}
	if e.state != core.Cancelled && tools == 0 && e.took < briefly {
		return ""
	}
	cost := ""
	if e.cost > 0 {
		cost = humanize.USD(e.cost)
	}
	return joined(how+clock(e.took), counted(tools, "tool"), cost)
}
