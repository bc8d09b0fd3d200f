package lanes

import (
	"fmt"
	"strings"
	"time"

	"bareclaw/core"
)

type inflight struct {
	turn        *core.Turn
	members     []*queued
	frozen      bool        // durable in the ledger
	handed      bool        // sent to the present session
	agentDone   bool        // the agent reported the end of the turn
	toolBegun   bool        // an event showed the start of a tool
	fateUnknown bool        // effects unknown: handed over by an earlier process, or the record was unreadable
	answered    bool        // the outcome is decided
	folded      []*inflight // turns folded into the present turn, according to the agent's record
	attempts    int         // number of handovers
	lastExit    *core.Exit  // how the agent ended during the turn, if at all
	started     time.Time
	spoke       bool           // the agent's first output for the turn has arrived
	calls       map[string]int // indexes in turn.Marks by the agent's tool call id
	holds       []func()       // release functions of events, called once the outcome is durable
	stop        *stop          // why the turn is being ended early; nil otherwise
	timer       *time.Timer
}

// carrier returns the last member: the message carrying the turn's reply.
func (f *inflight) carrier() *core.Message { return f.members[len(f.members)-1].msg }

// mark adds to the turn's timeline. A nil turn is ignored.
func (f *inflight) mark(at time.Time, what, detail string) {
	const maxMarks = 200 // a turn of thousands of tool calls keeps the first 200 marks
	if f == nil {
		return
	}
	if at.Before(f.turn.BegunAt) { // the session started before the turn
		at = f.turn.BegunAt
	}
	if len(f.turn.Marks) < maxMarks {
		f.turn.Marks = append(f.turn.Marks, core.Mark{At: at, What: what, Detail: detail})
	}
}

// releaseAcks lets the lane acknowledge the events leading to the turn's outcome.
func (f *inflight) releaseAcks() {
	for _, release := range f.holds {
		release()
	}
	f.holds = nil
}

func (f *inflight) markCall(at time.Time, call, detail string) {
	before := len(f.turn.Marks)
	if f.mark(at, core.MarkTool, detail); len(f.turn.Marks) == before || call == "" {
		return
	}
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[call] = before
}

func (f *inflight) callEnded(at time.Time, call string) {
	if i, ok := f.calls[call]; ok {
		delete(f.calls, call)
		f.turn.Marks[i].Took = max(0, at.Sub(f.turn.Marks[i].At))
	}
}

func (f *inflight) cancelTimer() {
	if f.timer != nil {
		f.timer.Stop()
	}
}

// toolsSeen lists the tools seen in the turn's events, limited to the last five.
func (f *inflight) toolsSeen() string {
	const show = 5
	var seen []string
	for _, m := range f.turn.Marks {
		if m.What == core.MarkTool {
			seen = append(seen, m.Detail)
		}
	}
	if over := len(seen) - show; over > 0 {
		seen = append([]string{fmt.Sprintf("%d other tool calls", over)}, seen[over:]...)
	}
	return strings.Join(seen, "; ")
}
