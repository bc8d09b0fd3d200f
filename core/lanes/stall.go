package lanes

import (
	"cmp"
	"fmt"
	"time"

	"bareclaw/core"
)

// StallAction selects the action on a turn without events.
type StallAction string

// The actions. The zero value means [StallNotify]; each action notifies the channel.
const (
	StallNotify    StallAction = "notify"    // only notify: the turn goes on
	StallInterrupt StallAction = "interrupt" // request the end of the turn from the agent, and end the agent after patientGrace
	StallKill      StallAction = "kill"      // end the agent
)

// patientGrace is how long the agent may take to end a turn on request when no caller waits.
const patientGrace = 5 * time.Second

// stallDue returns when the running turn counts as stuck without further events. stallDue
// returns zero while a person decides an approval, while the host does not read the agent,
// while the turn is being ended, and after the channel has been notified.
//
// A tool call with an announced timeout may be silent until the timeout.
func (l *lane) stallDue() time.Time {
	after := l.manager.o.StallAfter
	if after <= 0 || l.session == nil || len(l.pendingApprovals) > 0 || l.hostBlocked != "" || l.stallReported {
		return time.Time{}
	}
	if f := l.running(); f == nil || !f.handed || f.stop != nil {
		return time.Time{}
	}
	silent := l.lastHeard
	for _, until := range l.tools {
		if until.After(silent) {
			silent = until
		}
	}
	return silent.Add(after)
}

// stalled notifies the channel of the stuck turn, and runs the configured action.
func (l *lane) stalled() {
	f := l.running()
	silence := time.Since(l.lastHeard).Round(time.Second)
	last := cmp.Or(l.lastActivity, "no tool was used yet")
	l.stallReported = true
	l.manager.stats.stalled.Add(1)
	l.about(f).Warn("turn is stuck", "silent_for", silence, "last_activity", last, "action", cmp.Or(l.manager.o.StallAction, StallNotify))
	f.mark(l.now(), "stalled", last)
	what := fmt.Sprintf("Nothing was heard of Claude for %s (last known: %s).", silence, last)
	s := &stop{code: core.CodeStalled, failed: true, grace: patientGrace}
	switch l.manager.o.StallAction {
	case StallInterrupt:
		s.text = what + " The turn was interrupted."
		l.tellStalled(f, what+" The turn is being interrupted.")
		l.interrupt(f, s)
	case StallKill:
		s.text = what + " Its process was ended; the conversation is kept."
		l.tellStalled(f, what+" Its process is being ended.")
		f.stop = s
		f.mark(l.now(), "stop", s.code)
		f.cancelTimer()
		l.kill(f)
	case StallNotify:
		fallthrough
	default:
		l.tellStalled(f, what+" The turn goes on; interrupt it if it should not.")
	}
}

func (l *lane) tellStalled(f *inflight, detail string) {
	l.publish(core.Update{Kind: core.UpdateStalled, Turn: f.turn.ID, Messages: f.turn.Members, Detail: detail})
}

// toolEnded records the result of a tool call.
func (l *lane) toolEnded(call string) {
	delete(l.tools, call)
	if f := l.running(); f != nil {
		f.callEnded(l.eventTime(), call)
	}
	if call == l.toolCall && l.activity != "" {
		l.activity, l.lastActivity = "", "after "+l.lastActivity
	}
}

// noteTool records the announced timeout of a tool call.
func (l *lane) noteTool(ev core.Event) {
	if ev.Timeout <= 0 {
		return
	}
	if l.tools == nil {
		l.tools = map[string]time.Time{}
	}
	l.tools[ev.ToolID] = time.Now().Add(ev.Timeout)
}
