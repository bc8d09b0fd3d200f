package lanes

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// A lane is one channel's queue and its single runner. One goroutine owns all
// of its state: everything that happens to it arrives through the mailbox or
// as an event of the session.
//
//	admit ─► pending ─► freeze ─► flight ─► hand ─► events ─► finish
//	                                 ▲                 │
//	                                 └── recover ◄─────┘ session gone
type lane struct {
	manager *Manager
	key     core.ChannelKey
	log     *slog.Logger
	mailbox *mailbox
	gauge   gauge
	done    chan struct{} // closed when run has returned

	pending  []*queued   // accepted or being accepted, in order of arrival
	inflight []*inflight // turns on their way, in order of dispatch

	session            core.Session // nil when there is none
	events             <-chan []core.Event
	info               core.SessionInfo
	sessionID          string
	model              string // that the session named last; empty: none yet
	ready              bool
	exit               *core.Exit          // what the session said of its end
	unattributedResult *core.Result        // an error result that named no turn
	cost               float64             // the session's running total at its last result
	costOf             string              // the session
	launched           float64             // the same when its process began
	counted            bool                // its process has gone on from that total
	budgetExhausted    bool                // its process has nothing left of the budget of a turn
	countedResults     map[string]struct{} // background results that an earlier gateway has counted
	busy               string              // why nothing may be dispatched now: starting up, recovering, …
	opening            bool                // a session is being started
	endLater           bool                // turns that are to be ended wait for the session's replay
	panics             int                 // panics in a row
	retries            []func()            // requests that wait for a change of the lane
	reordering         bool                // the queue is being written, in another order or to another channel
	pauses             int                 // for whose sake no turn is begun
	quietWaiters       []*quiesceWaiter    // those who wait for nothing to happen
	saving             int                 // session ids on their way to the disk
	attaching          bool                // the host of an earlier process is being looked for
	unopened           bool                // the session's id was made here, and no turn on record opens it
	startRefusals      int                 // starts in a row that the agent refused the session's id
	recovery           int                 // counts recoveries: only the latest one counts
	resetting          func()              // set while the channel is being closed: what to do once its session is gone
	activity           string              // the tool the agent uses now
	lastActivity       string              // the same with what it works on, or what it did last in this turn
	toolCall           string              // the agent's id of that call
	ownTurn            bool                // the agent works on something that nobody asked for
	newsUntil          time.Time           // until when the agent may begin to tell news of background tasks that have ended
	newsGuessed        bool                // of that nothing is known but that it could be
	tasks              int                 // the agent's background tasks that are alive
	ending             bool                // the session is unused and is being ended
	writing            int                 // changes that the ledger does not have yet
	saved              int                 // changes that were given to it with save
	unsaved            []unsaved           // those that it did not take, and what came after them
	savePause          time.Duration       // before they are written again; 0 once it takes changes
	saveError          error               // why it did not take the last one of them

	timer         timer
	lastHeard     time.Time            // last sign of life of the session, or work given to it
	stallReported bool                 // of the silence since then
	hostBlocked   string               // why the host cannot keep what the agent says, and does not read it; empty when it can
	tools         map[string]time.Time // until when tool calls said that they may run
	parked        *park                // why nothing is begun; nil when there is no such reason
	retriedPark   *park                // the same, while the turn that tries again runs
	limit         time.Time            // when the usage limit ends that the agent met last
	slot          slotState

	pendingApprovals map[string]*pendingApproval // pending approvals by the agent's request id
	notices          []core.Notice               // to be told with the next turn's reply

	lastSeq uint64   // last event taken up
	acked   uint64   // last event acknowledged
	holds   []uint64 // events whose effect is not durable yet, ascending

	replayedTurns []core.TurnID // turns that had their outcome before; what is heard is of them
	currentSeq    uint64        // the event that is being taken up, 0 between events
	replayOf      time.Time     // when that one was heard, if the host says it again; else zero
	publishedUpTo uint64        // an earlier process has published what events up to it cause
}

// gauge mirrors counts of a lane for metrics.
type gauge struct{ sessions, running, waiting atomic.Int32 }

// An item is a message in the queue.
type queued struct {
	msg               *core.Message
	ticket            *core.Ticket   // of whoever waits to hear whether it is accepted; nil when nobody does
	written           bool           // its acceptance was given to the ledger
	decides           *core.Approval // decided by accepting it; may be nil
	requeueWhenParked bool           // it waits on rather than fail for what parks the channel
	durable           bool
	refused           bool
	moving            bool // on its way back to the queue: nothing is to happen to it before the ledger knows
	changing          bool // its content is being written: it is not begun meanwhile
}

// tell says whether the message was accepted, once.
func (it *queued) notifyAccepted(err error) {
	if it.ticket != nil {
		it.ticket.Accept(err)
		it.ticket = nil
	}
}

// A flight is a turn on its way, with its members.
type inflight struct {
	turn        *core.Turn
	members     []*queued
	frozen      bool        // durable in the ledger
	handed      bool        // given to the present session
	agentDone   bool        // the agent says that it is done with it
	toolBegun   bool        // an event showed that it began a tool
	fateUnknown bool        // what it did is not known: an earlier process handed it over, or its record could not be read
	answered    bool        // its outcome is decided
	folded      []*inflight // turns that were folded into this one, as the agent's record shows
	attempts    int         // times it was handed over
	lastExit    *core.Exit  // how the agent ended when it last had the turn, if it did
	started     time.Time
	spoke       bool           // the agent's first words about it have come
	calls       map[string]int // marks of tools by the agent's id of the call
	holds       []func()       // let events be acknowledged once the outcome is durable
	stop        *stop          // why it is being ended before its time
	timer       *time.Timer
}

// carrier is the message that carries the turn's reply: the last one.
func (f *inflight) carrier() *core.Message { return f.members[len(f.members)-1].msg }

func (f *inflight) mark(at time.Time, what, detail string) {
	const maxMarks = 200           // a turn of thousands of tool calls keeps its first ones
	if at.Before(f.turn.BegunAt) { // of a session that waited for a turn
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

// callEnded notes how long a tool call took.
func (f *inflight) callEnded(at time.Time, call string) {
	if i, ok := f.calls[call]; ok {
		delete(f.calls, call)
		f.turn.Marks[i].Took = max(0, at.Sub(f.turn.Marks[i].At))
	}
}

// remains is what an earlier process left of a channel.
type recovered struct {
	live      bool // its session host is alive
	messages  []*core.Message
	turns     []*core.Turn
	approvals []*core.Approval
}

func newLane(m *Manager, key core.ChannelKey) *lane {
	l := &lane{
		manager: m, key: key, log: m.o.Log.With("channel", string(key)), mailbox: newMailbox(),
		done:             make(chan struct{}),
		pendingApprovals: map[string]*pendingApproval{},
	}
	l.sessionID, _ = m.o.Sessions.Get(key)
	return l
}

// run serves the channel until ctx ends, and leaves the session at work then, or
// until there is nothing left to do.
func (l *lane) run(ctx context.Context, r *recovered) {
	defer close(l.done)
	if r != nil {
		l.restore(r)
	}
	for over := false; !over; {
		l.guard(func() { over = l.step(ctx) })
	}
}

// step takes up one thing that happens, and reports whether the lane is over.
func (l *lane) step(ctx context.Context) (over bool) {
	l.retry()
	l.measure()
	l.notifyQuiet()
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
	case batch, ok := <-l.events:
		l.touch()
		if !ok {
			l.sessionGone()
		}
		for _, ev := range batch {
			l.handleEvent(ev)
		}
		l.currentSeq, l.replayOf = 0, time.Time{}
		l.endStopped()
	}
	return false
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

// post has the lane's goroutine run f, and reports false if the lane has retired.
func (l *lane) post(f func()) bool { return l.mailbox.post(f) }

// retryLater runs a request again after the next thing that happens on the lane. It is for
// requests that come while the lane is busy with what decides them.
func (l *lane) retryLater(f func()) { l.retries = append(l.retries, f) }

// retry runs the requests that wait for a change of the lane.
func (l *lane) retry() {
	waiting := l.retries
	l.retries = nil
	for _, f := range waiting {
		f()
	}
}

// async runs work off the lane's goroutine and then, on it, what work returned.
func (l *lane) async(work func(ctx context.Context) func()) {
	l.manager.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				l.rethrow(p)
			}
		}()
		if then := work(l.manager.ctx); then != nil && l.manager.ctx.Err() == nil {
			l.post(then)
		}
	})
}

// call runs f on the lane's goroutine and waits for it; errRetired if there is
// nothing to be asked any more. After an error f may still be running: nothing
// that it writes may be read.
func (l *lane) call(ctx context.Context, f func()) error {
	done := make(chan error, 1)
	ran := func() {
		err := errInternal // unless f returns
		defer func() { done <- err }()
		f()
		err = nil
	}
	if !l.post(ran) {
		return errRetired
	}
	failed, err := await(ctx, l, done)
	return cmp.Or(err, failed)
}

// toldBy waits for what the lane tells. What it told is heard even if it retired right
// after that: the two are often ready at once. Otherwise a lane that has retired is
// errRetired, and one that was left ErrClosed.
func await[T any](ctx context.Context, l *lane, told <-chan T) (T, error) {
	var none T
	select {
	case v := <-told:
		return v, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-l.done:
	}
	select {
	case v := <-told:
		return v, nil
	default:
	}
	if l.manager.ctx.Err() != nil {
		return none, core.ErrClosed
	}
	return none, errRetired
}

// leaveTimeout bounds how long a lane that is left waits for a session that is just
// being started or attached.
const leaveTimeout = 5 * time.Second

// leave ends the lane and leaves its session at work. Whoever waits to hear
// whether a message was accepted is told first, the agent gets each decision that is being
// written, and a session that is just being started or attached is left too.
//
// Writes of the ledger are waited for without a limit: what has been given to the
// ledger lands, at the latest when the ledger is closed, so a sender who was told
// otherwise would send the message a second time.
func (l *lane) leave() {
	l.busy = "closing"
	patience := time.After(leaveTimeout)
	for late := false; ; {
		l.mailbox.drain() // once more when it is late: what was told meanwhile may wait there
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
		l.manager.feeds.SetPublishedUpTo(l.key, l.host(), l.lastSeq)
		l.session.Detach()
	}
}

// host names the process that holds the session.
func (l *lane) host() feed.HostID { return feed.HostID{PID: l.info.HostPID, Start: l.info.HostStart} }

// admitting reports whether somebody waits to hear of a message's acceptance.
func (l *lane) admitting() bool {
	waits := func(it *queued) bool { return it.ticket != nil }
	return slices.ContainsFunc(l.pending, waits) ||
		slices.ContainsFunc(l.inflight, func(f *inflight) bool { return slices.ContainsFunc(f.members, waits) })
}

// deciding reports whether a decision is being written: the next process would ask again.
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

// running returns the turn the agent works on: the first without an outcome.
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

func (l *lane) now() time.Time { return l.manager.o.Now() }

// eventTime is when what is taken up now happened: for an event that the host says again
// that is when the host heard it first.
func (l *lane) eventTime() time.Time {
	if !l.replayOf.IsZero() {
		return l.replayOf
	}
	return l.now()
}

// listening reports whether anybody would see an update, now or a little later.
func (l *lane) listening() bool { return l.manager.feeds.HasListeners(l.key) }

func (l *lane) publish(u core.Update) {
	if l.listening() && !l.isPublished(&u) {
		u.At = l.now()
		l.manager.feeds.Publish(l.key, u)
	}
}

// toldBefore reports whether the update comes from an event that the host says
// again, and an earlier process has published it. An outcome it may not have: it
// is published when it is durable, which can be after the event was taken up.
func (l *lane) isPublished(u *core.Update) bool {
	if l.currentSeq == 0 || l.currentSeq > l.publishedUpTo {
		return false
	}
	return u.Kind != core.UpdateResult || !l.manager.feeds.IsUnpublished(l.key, u.Message.ID)
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
