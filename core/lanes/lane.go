package lanes

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"bareclaw/core"
)

// A lane owns one channel's queue, turns in flight and agent session. A single goroutine
// owns all of the lane's state, and receives work through the mailbox and the session's
// events.
//
//	admit ─► pending ─► freeze ─► flight ─► hand ─► events ─► finish
//	                                 ▲                 │
//	                                 └── recover ◄─────┘ session gone
type lane struct {
	*publisher
	journal *journal
	gauge   gauge

	pending  []*queued   // messages accepted or being accepted, in order of arrival
	inflight []*inflight // turns being frozen, frozen or handed over, in order of dispatch

	session            *agentSession // nil without a session
	sessionID          string
	model              string       // last model reported by the session; empty before the first report
	exit               *core.Exit   // reason for the last session's end, as reported by the session
	unattributedResult *core.Result // an error result without turn ids
	cost               costMeter
	busy               string // the operation blocking dispatch: starting up, recovering, …; or empty
	opening            bool   // a session is being started
	reordering         bool   // a ledger write is moving messages within the queue
	saving             int    // session ids being written to disk
	attaching          bool   // the lane is looking for the session host of an earlier process
	unopened           bool   // the gateway made the session id, and no recorded turn opens the session
	startRefusals      int    // consecutive starts in which the agent refused the session id
	recovery           int    // number of recoveries; results of all but the latest are ignored
	resetting          func() // set during Reset: runs after the session's end
	ending             bool   // the unused session is being ended

	timer       timer
	parked      *park     // why the lane begins no turn; nil when not parked
	retriedPark *park     // the park lifted for the attempt now running
	limit       time.Time // end of the agent's last usage limit
	slot        slotState

	pendingApprovals map[string]*pendingApproval // by the agent's request id
	notices          []core.Notice               // to be added to the next turn's reply

}

// gauge mirrors counts of a lane, to be read for metrics from any goroutine.
type gauge struct{ sessions, running, waiting atomic.Int32 }

// A queued is a message in the queue or in a turn.
type queued struct {
	msg               *core.Message
	ticket            *core.Ticket   // of the caller waiting for acceptance; nil without a caller
	written           bool           // the acceptance was passed to the ledger
	decides           *core.Approval // approval decided by accepting the message; may be nil
	requeueWhenParked bool           // returns to the queue, instead of failing, when a turn parks the channel
	durable           bool
	refused           bool
	moving            bool // returning to the queue; must not change until the ledger has recorded the return
	changing          bool // the content is being written; the message must not be dispatched meanwhile
}

// notifyAccepted reports to the ticket, once, whether the message is accepted.
func (it *queued) notifyAccepted(err error) {
	if it.ticket != nil {
		it.ticket.Accept(err)
		it.ticket = nil
	}
}

// An inflight is a turn in flight with the member messages.
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

func (f *inflight) mark(at time.Time, what, detail string) {
	const maxMarks = 200           // a turn of thousands of tool calls keeps the first 200 marks
	if at.Before(f.turn.BegunAt) { // the session started before the turn
		at = f.turn.BegunAt
	}
	if len(f.turn.Marks) < maxMarks {
		f.turn.Marks = append(f.turn.Marks, core.Mark{At: at, What: what, Detail: detail})
	}
}

// markCall marks the beginning of a tool call.
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

// callEnded records the duration of a tool call.
func (f *inflight) callEnded(at time.Time, call string) {
	if i, ok := f.calls[call]; ok {
		delete(f.calls, call)
		f.turn.Marks[i].Took = max(0, at.Sub(f.turn.Marks[i].At))
	}
}

// A recovered holds the open records of a channel left by an earlier process.
type recovered struct {
	live      bool // the session host is alive
	messages  []*core.Message
	turns     []*core.Turn
	approvals []*core.Approval
}

func newLane(m *Manager, key core.ChannelKey) *lane {
	w := newWorker(m, key)
	l := &lane{
		publisher: &publisher{worker: w}, journal: &journal{ledger: m.o.Ledger, post: w.post, log: w.log},
		pendingApprovals: map[string]*pendingApproval{},
	}
	l.sessionID, _ = m.o.Sessions.Get(key)
	return l
}

// run serves the channel until ctx ends or the lane retires. When ctx ends, run detaches
// from the session and leaves the session running.
func (l *lane) run(ctx context.Context, r *recovered) {
	defer close(l.done)
	if r != nil {
		l.restore(r)
	}
	for over := false; !over; {
		l.guard(func() { over = l.step(ctx) }, l.abandon)
	}
}

// step waits for one event or mailbox wake-up, handles the input, and reports whether the
// lane is over.
func (l *lane) step(ctx context.Context) (over bool) {
	l.retry()
	l.measure()
	l.updateSlot()
	if l.retire() {
		return true
	}
	l.setTimer()
	select {
	case <-ctx.Done():
		l.leave()
		return true
	case <-l.mailbox.wake:
		l.mailbox.drain()
	case batch, ok := <-l.events():
		if !ok {
			l.sessionGone()
			break
		}
		l.session.activity.touch()
		for _, ev := range batch {
			l.handleEvent(ev)
		}
		l.handled()
		l.endStopped()
	}
	return false
}

// events returns the session's events, or nil without a session.
func (l *lane) events() <-chan []core.Event {
	if l.session == nil {
		return nil
	}
	return l.session.events
}

func (l *lane) measure() {
	running := 0
	for _, f := range l.inflight {
		if !f.answered {
			running++
		}
	}
	l.gauge.waiting.Store(int32(len(l.pending)))
	l.gauge.running.Store(int32(running))
}

// leaveTimeout bounds how long a closing lane waits for a session being started or attached.
const leaveTimeout = 5 * time.Second

// leave ends the lane and leaves the session running. Before returning, leave reports
// acceptance to waiting submitters, passes decisions being written to the agent, and
// detaches from a session being started or attached.
//
// leave waits for ledger writes without a limit. Data passed to the ledger is written at the
// latest when the ledger closes, so a submitter receiving an error would send the message a
// second time.
func (l *lane) leave() {
	l.busy = "closing"
	patience := time.After(leaveTimeout)
	for late := false; ; {
		l.mailbox.drain() // again when late: functions posted meanwhile may be queued
		starting := l.opening || l.attaching
		if !l.admitting() && !l.isDeciding() && (late || !starting) {
			if starting {
				l.log.Error("left while a session was being started")
				return
			}
			break
		}
		select {
		case <-l.mailbox.wake:
		case <-patience:
			late = true
		}
	}
	if l.timer.timer != nil {
		l.timer.timer.Stop()
	}
	for _, f := range l.inflight {
		f.cancelTimer()
	}
	for _, a := range l.pendingApprovals {
		a.timer.Stop()
	}
	if l.session != nil {
		l.manager.Feeds.SetPublishedUpTo(l.key, l.session.host(), l.session.acks.last)
		l.session.Detach()
	}
}

// admitting reports whether a submitter waits for the acceptance of a message.
func (l *lane) admitting() bool {
	waits := func(it *queued) bool { return it.ticket != nil }
	return slices.ContainsFunc(l.pending, waits) ||
		slices.ContainsFunc(l.inflight, func(f *inflight) bool { return slices.ContainsFunc(f.members, waits) })
}

// isDeciding reports whether a decision is being written. Without the decision the next
// process would request the approval again.
func (l *lane) isDeciding() bool {
	for _, a := range l.pendingApprovals {
		if a.deciding {
			return true
		}
	}
	return false
}

func (f *inflight) cancelTimer() {
	if f.timer != nil {
		f.timer.Stop()
	}
}

// running returns the agent's present turn: the first turn without an outcome, or nil.
func (l *lane) running() *inflight {
	for _, f := range l.inflight {
		if !f.answered {
			return f
		}
	}
	return nil
}

func (l *lane) findInflight(id core.TurnID) *inflight {
	for _, f := range l.inflight {
		if f.turn.ID == id {
			return f
		}
	}
	return nil
}

// open counts the channel's messages without an outcome.
func (l *lane) open() int {
	n := len(l.pending)
	for _, f := range l.inflight {
		if !f.answered {
			n += len(f.members)
		}
	}
	return n
}
