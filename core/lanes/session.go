package lanes

import (
	"cmp"
	"slices"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// An agentSession is the live session of a lane. The methods with a comment about nil may be
// called without a session.
type agentSession struct {
	core.Session
	events         <-chan *core.Batch
	info           core.SessionInfo
	ready          bool
	interruptLater bool   // stopped turns wait for the end of the session's replay before the interrupt
	hostBlocked    string // why the host cannot store the agent's output and does not read more; empty otherwise
	acks           acks
	replayed       replayedTurns
	background     background
	activity       activity
}

func newAgentSession(s core.Session) *agentSession {
	a := &agentSession{Session: s, events: s.Events(), info: s.Info(), acks: acks{ack: s.Ack}}
	a.ready, a.background.Tasks, a.background.names = a.info.Ready, len(a.info.Tasks), a.info.Tasks
	a.activity.touch()
	return a
}

func (s *agentSession) host() feed.HostID {
	return feed.HostID{PID: s.info.HostPID, Start: s.info.HostStart}
}

// isKnown reports whether an earlier gateway may have seen the event being handled.
func (s *agentSession) isKnown() bool { return s.acks.last <= s.info.Said }

// replaying reports whether the host is still replaying events from before the attachment.
func (s *agentSession) replaying() bool { return s.info.Replays && s.acks.last < s.info.Said }

// ownTurnRuns reports whether the agent is known to be in a turn of its own; false for a nil session.
func (s *agentSession) ownTurnRuns() bool {
	return s != nil && (s.background.OwnTurn || s.background.own != noOwnTurn)
}

// touch records an event of the agent, or new work given to the agent. A nil session is
// ignored.
func (s *agentSession) touch() {
	if s != nil {
		s.activity.touch()
	}
}

// blocked returns why the host does not read the agent; empty if nothing is wrong, and for a
// nil session.
func (s *agentSession) blocked() string {
	if s == nil {
		return ""
	}
	return s.hostBlocked
}

// replayedTurns are the turns with an earlier outcome whose events a session host replays to
// a new process. Subscribers must not receive the events again.
type replayedTurns []core.TurnID

// isReplay reports whether the event belongs to a turn with an earlier outcome, and must be
// called once per event. open reports whether the event's turn has no outcome yet.
func (r *replayedTurns) isReplay(ev *core.Event, open bool) bool {
	if ev.Kind != core.TurnState {
		return len(*r) > 0
	}
	is := func(id core.TurnID) bool { return id == ev.Turn }
	switch {
	case open && ev.Phase == core.PhaseStarted:
		*r = nil
		return false
	case open:
		return false
	case ev.Phase == core.PhaseStarted && !slices.ContainsFunc(*r, is):
		*r = append(*r, ev.Turn)
	case ev.Phase == core.PhaseCompleted, ev.Phase == core.PhaseCancelled:
		*r = slices.DeleteFunc(*r, is)
	}
	return true
}

// drop removes the turns of a result. The agent reports the end of each turn once more,
// outside the turn's lines.
func (r *replayedTurns) drop(turns []core.TurnID) {
	*r = slices.DeleteFunc(*r, func(id core.TurnID) bool { return slices.Contains(turns, id) })
}

// ackEvery is how many handled events cause an acknowledgement when no other reason does.
const ackEvery = 64

// acks decides which events of a session to acknowledge. An event with an effect not durable
// yet, and all later events, stay unacknowledged, because a new process would need the
// events again.
type acks struct {
	ack   func(seq uint64) // nil after the session's end
	last  uint64           // last event handled
	acked uint64           // last event acknowledged
	holds []uint64         // events with an effect not durable yet, ascending
}

// flush acknowledges all events that need no replay.
func (a *acks) flush() {
	seq := a.last
	if len(a.holds) > 0 {
		seq = min(seq, a.holds[0]-1)
	}
	if a.ack != nil && seq > a.acked {
		a.acked = seq
		a.ack(seq)
	}
}

func (a *acks) flushEvery() {
	if a.last-a.acked >= ackEvery {
		a.flush()
	}
}

// hold keeps the newest event, and all later events, unacknowledged until the caller calls
// release.
func (a *acks) hold() (release func()) {
	seq := max(1, a.last) // 1: before the first event, hold all events
	a.holds = append(a.holds, seq)
	return func() {
		if i := slices.Index(a.holds, seq); i >= 0 { // the same event may be held several times
			a.holds = slices.Delete(a.holds, i, i+1)
		}
		a.flush()
	}
}

// An activity follows the work of a session: when the agent was last heard of, and the tools
// in use.
type activity struct {
	lastHeard time.Time            // last event of the session, or last work given to the session
	reported  bool                 // the silence since lastHeard has been reported as a stall
	tool      string               // name of the tool in use; empty without a tool
	call      string               // the agent's id of the call of tool
	last      string               // tool and target of the last tool call in the turn
	deadlines map[string]time.Time // announced by tool calls, by call id
}

// touch records an event of the agent, or new work given to the agent.
func (a *activity) touch() { a.lastHeard, a.reported = time.Now(), false }

func (a *activity) silence() time.Duration { return time.Since(a.lastHeard).Round(time.Second) }

func (a *activity) begin(ev *core.Event) {
	a.tool, a.last, a.call = ev.Tool, ev.Tool+": "+ev.Target, ev.ToolID
	if ev.Timeout <= 0 {
		return
	}
	if a.deadlines == nil {
		a.deadlines = map[string]time.Time{}
	}
	a.deadlines[ev.ToolID] = time.Now().Add(ev.Timeout)
}

func (a *activity) end(call string) {
	delete(a.deadlines, call)
	if call == a.call && a.tool != "" {
		a.tool, a.last = "", "after "+a.last
	}
}

func (a *activity) endTurn() {
	a.tool, a.last = "", ""
	clear(a.deadlines)
}

func (a *activity) describe() string { return cmp.Or(a.last, "no tool was used yet") }

// stallDue returns when a silent turn counts as stuck: after the given silence, or later if a
// tool call has announced a timeout. stallDue returns zero if the silence is already
// reported.
func (a *activity) stallDue(after time.Duration) time.Time {
	if a.reported {
		return time.Time{}
	}
	silent := a.lastHeard
	for _, until := range a.deadlines {
		if until.After(silent) {
			silent = until
		}
	}
	return silent.Add(after)
}

// background is the agent's work without a request of a user: background tasks, reports of
// ended tasks, and other turns that the agent begins by itself.
type background struct {
	core.Activity
	names       []string // descriptions of the live tasks
	newsGuessed bool     // NewsUntil is a guess made while attaching, not caused by an event
	own         ownTurn
	wokenBy     string // what woke the agent for its own turn; empty if unknown, and without a turn
	toldRefusal string // the day on which the channel was told that the agent's own turns are ended
}

// An ownTurn is the progress of a turn that the agent began by itself.
type ownTurn int

// The states of the agent's own turn.
const (
	noOwnTurn ownTurn = iota
	ownTurnRuns
	ownTurnRefused // the daily budget is spent, so the turn is being ended
)

// setTasks records the live tasks. After the last task's end the agent may report.
func (b *background) setTasks(names []string) {
	n := len(names)
	b.names = names
	b.newsGuessed = b.newsGuessed && (b.Tasks == 0 || n > 0)
	b.SetTasks(n, time.Now())
}

// beginOwnTurn records the begin of a turn of the agent's own, and reports whether the begin is
// news: the agent announces some turns twice.
func (b *background) beginOwnTurn(wokenBy string) (isNew bool) {
	b.wokenBy = cmp.Or(b.wokenBy, wokenBy)
	isNew = b.own == noOwnTurn
	if isNew {
		b.own = ownTurnRuns
	}
	return isNew
}

// endTurn records the end of a turn, begun by a message or by the agent.
func (b *background) endTurn() { b.OwnTurn, b.own, b.wokenBy = false, noOwnTurn, "" }

// expectNews gives the agent the time to begin a report that may be due.
func (b *background) expectNews() {
	b.NewsUntil, b.newsGuessed = time.Now().Add(core.NewsGrace), true
}

// mayReport reports whether the agent works without a request, or may begin a report.
func (b *background) mayReport() bool { return b.OwnTurn || time.Now().Before(b.NewsUntil) }

// keepsSettings reports whether tasks, or a report of ended tasks, keep a process with
// outdated settings.
func (b *background) keepsSettings() bool {
	return b.Busy() || b.mayReport() && !b.newsGuessed
}
