package lanes

import (
	"cmp"
	"fmt"
	"time"

	"bareclaw/core"
)

// StallAction says what is done with a turn of which nothing is heard.
type StallAction string

// The actions. The zero value means [StallNotify]; the channel is told in each case.
const (
	StallNotify    StallAction = "notify"    // nothing else: the turn goes on
	StallInterrupt StallAction = "interrupt" // the agent is asked to end it, and is ended if it does not
	StallKill      StallAction = "kill"      // the agent is ended
)

// patientGrace is how long the agent may take to end a turn on request when
// nobody waits for that.
const patientGrace = 5 * time.Second

// stallDue is when the running turn counts as stuck if nothing is heard of it
// until then; zero when it cannot be: while a person is asked, while the agent is not
// read, while it is being ended, and once the channel has been told.
//
// A tool that said how long it may take is silent with good reason for that long.
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

// stalled tells the channel that the running turn seems stuck, and does what is
// configured for that.
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

// toolEnded notes that a tool call has its result.
func (l *lane) toolEnded(call string) {
	delete(l.tools, call)
	if f := l.running(); f != nil {
		f.callEnded(l.eventTime(), call)
	}
	if call == l.toolCall && l.activity != "" {
		l.activity, l.lastActivity = "", "after "+l.lastActivity
	}
}

// noteTool notes how long a tool call may be silent, as it says itself.
func (l *lane) noteTool(ev core.Event) {
	if ev.Timeout <= 0 {
		return
	}
	if l.tools == nil {
		l.tools = map[string]time.Time{}
	}
	l.tools[ev.ToolID] = time.Now().Add(ev.Timeout)
}
