package lanes

import (
	"cmp"
	"fmt"
	"slices"
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

// depth returns the depth of the turn's deepest message.
func (f *inflight) depth() int {
	depth := 0
	for _, q := range f.members {
		depth = max(depth, q.msg.Depth)
	}
	return depth
}

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

// interruptGrace is how long the agent may take to end a turn on request before the lane
// ends the agent's process. Users are promised two seconds in all.
const interruptGrace = 1300 * time.Millisecond

// patientGrace is how long the agent may take to end a turn on request when no caller waits.
const patientGrace = 5 * time.Second

// A stop is the reason for ending a turn early.
type stop struct {
	again   bool          // the messages return to the queue if no tool was begun, instead of the outcome
	reply   core.Reply    // the outcome, if the agent gives no other
	grace   time.Duration // time for the agent to end the turn; 0 means interruptGrace
	waiters []func(error) // called once each
}

// wake notifies all waiters of the turn's end; a non-nil err says why the outcome cannot be
// recorded yet.
func (s *stop) wake(err error) {
	if s == nil {
		return
	}
	for _, w := range s.waiters {
		w(err)
	}
	s.waiters = nil
}

func (s *stop) patience() time.Duration { return cmp.Or(s.grace, interruptGrace) }

// interruptFor interrupts the turn named in the message, if still running, and never a later
// turn.
func (ts *turns) interruptFor(it *queued) {
	if it.msg.Interrupts == "" {
		return
	}
	if f := ts.find(it.msg.Interrupts); f != nil && !f.answered {
		ts.interrupt(f, &stop{reply: interruption("Interrupted by a newer message.")})
	}
}

// isOf reports whether the sender of the turn's last message has sent m too.
func (f *inflight) isOf(m *core.Message) bool {
	last := f.carrier()
	return last.Adapter == m.Adapter && last.Origin == m.Origin
}

// beginsAgain reports whether an outcome with the code leaves the turn's messages to be begun again,
// together with the message for which the turn was stopped. A turn that may have had an effect is
// not begun again.
func (f *inflight) beginsAgain(code string) bool {
	return f.stop != nil && f.stop.again && code == core.CodeInterrupted && !f.toolBegun && !f.fateUnknown
}

// join adds a message to the running turn f of the same sender. A turn with an effect, with other
// turns behind it, or of a command is handed the message instead; then the message may wait. The same
// holds for a turn that could not begin again, because the daily budget is spent, and for a turn
// that waits behind one of the agent's own, which an interrupt would end.
func (ts *turns) join(it *queued, f *inflight) {
	others := func(g *inflight) bool { return g != f && !g.answered }
	if f.toolBegun || f.fateUnknown || slices.ContainsFunc(ts.list, others) || core.IsCommand(f.carrier()) || core.IsCommand(it.msg) ||
		ts.manager.budget.Used(ts.now()) || f.handed && f.started.IsZero() && ts.conv.session.ownTurnRuns() {
		ts.steer(it, f)
		return
	}
	ts.interrupt(f, &stop{again: true, reply: interruption("Interrupted by the next message of the same sender.")})
}

// interrupt ends a turn: first by a request to the agent, and after the grace period by
// ending the agent's process. A turn not handed over ends at once.
func (ts *turns) interrupt(f *inflight, s *stop) {
	if f.stop != nil {
		if f.stop.again && !s.again { // whoever stops the turn does not want it begun again
			f.stop.again, f.stop.reply = false, s.reply
		}
		f.stop.waiters = append(f.stop.waiters, s.waiters...)
		ts.hurry(f, s)
		return
	}
	f.stop = s
	f.mark(ts.now(), "stop", s.reply.Code)
	if ts.conv.session != nil && f.handed {
		ts.requestEnd(f)
	} // else freezeDone, hand, attached or applyFates handles the stop
}

// requestEnd requests the end of the turn from the agent, and schedules kill after the grace
// period. A starting agent would begin the turn first, so requestEnd ends a starting agent
// at once. During a replay the turn may already have ended, and the request would hit the
// agent's next turn, so requestEnd waits for the end of the replay.
func (ts *turns) requestEnd(f *inflight) {
	if ts.conv.session.replaying() {
		ts.conv.session.interruptLater = true
		return
	}
	if !ts.conv.session.ready {
		ts.kill(f)
		return
	}
	if err := ts.conv.session.Interrupt(); err != nil {
		ts.about(f).Warn("interrupt not sent", "err", err)
	}
	ts.killAfter(f, f.stop.patience())
}

// endStopped requests the end of stopped turns after the end of the replay.
func (ts *turns) endStopped() {
	if ts.conv.session == nil || !ts.conv.session.interruptLater || ts.conv.session.replaying() {
		return
	}
	ts.conv.session.interruptLater = false
	for _, f := range ts.list {
		if f.stop != nil && f.handed && !f.answered {
			ts.requestEnd(f)
		}
	}
}

func (ts *turns) killAfter(f *inflight, d time.Duration) {
	f.cancelTimer()
	f.timer = ts.after(d, func() { ts.kill(f) })
}

// hurry shortens the grace period of a turn already being stopped, when a later stop has a
// shorter grace period.
func (ts *turns) hurry(f *inflight, s *stop) {
	if s.patience() < f.stop.patience() {
		f.stop.grace = s.grace
		if f.handed && ts.conv.session != nil {
			ts.killAfter(f, s.patience())
		}
	}
}

// kill ends the agent's process after the agent failed to end the turn.
func (ts *turns) kill(f *inflight) {
	if f.answered || ts.conv.session == nil {
		return
	}
	ts.about(f).Warn("turn is ended with the agent's process", "agent_ready", ts.conv.session.ready)
	how := core.StopNow
	if f.stop != nil && f.stop.patience() >= patientGrace { // no caller waits
		how = core.StopPatiently
	}
	if err := ts.conv.session.Stop(how); err != nil {
		ts.log.Error("agent not ended", "err", err)
	}
}

func (ts *turns) startTimeout(f *inflight) {
	d := ts.manager.o.TurnTimeout
	if d <= 0 || f.timer != nil {
		return
	}
	text := fmt.Sprintf("The turn took longer than %s allows (%s) and was interrupted. The session is kept.", ts.manager.o.Advice.timeout(), d)
	f.timer = ts.after(d, func() {
		if !f.answered {
			ts.interrupt(f, &stop{reply: failure(core.CodeTimeout, text)})
		}
	})
}

func (ts *turns) tellStalled(f *inflight, detail string) {
	ts.publish(core.Update{Kind: core.UpdateStalled, Turn: f.turn.ID, Messages: f.turn.Members, Detail: detail})
}
