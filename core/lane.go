package core

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
)

// A lane is one channel's queue and its single runner. One goroutine owns all
// of its state: everything that happens to it arrives through the mailbox or
// as an event of the session.
//
//	admit ─► pending ─► freeze ─► flight ─► hand ─► events ─► finish
//	                                 ▲                 │
//	                                 └── recover ◄─────┘ session gone
type lane struct {
	m     *ProcessManager
	key   ChannelKey
	log   *slog.Logger
	box   *mailbox
	gauge gauge
	gone  chan struct{} // closed when run has returned

	pending []*item   // accepted or being accepted, in order of arrival
	flights []*flight // turns on their way, in order of dispatch

	session     Session // nil when there is none
	events      <-chan []Event
	info        SessionInfo
	sessionID   string
	model       string // that the session named last; empty: none yet
	ready       bool
	exit        *Exit               // what the session said of its end
	stray       *Result             // an error result that named no turn
	cost        float64             // the session's running total at its last result
	costOf      string              // the session
	launched    float64             // the same when its process began
	counted     bool                // its process has gone on from that total
	broke       bool                // its process has nothing left of the budget of a turn
	paid        map[string]struct{} // background results that an earlier gateway has counted
	busy        string              // why nothing may be dispatched now: starting up, recovering, …
	opening     bool                // a session is being started
	endLater    bool                // turns that are to be ended wait for the session's replay
	reordering  bool                // the queue is being written, in another order or to another channel
	halts       int                 // for whose sake no turn is begun
	stills      []*stillness        // those who wait for nothing to happen
	saving      int                 // session ids on their way to the disk
	attaching   bool                // the host of an earlier process is being looked for
	unopened    bool                // the session's id was made here, and no turn on record opens it
	restarts    int                 // starts in a row that the agent refused the session's id
	recovery    int                 // counts recoveries: only the latest one counts
	resetting   func()              // set while the channel is being closed: what to do once its session is gone
	activity    string              // the tool the agent uses now
	doing       string              // the same with what it works on, or what it did last in this turn
	toolCall    string              // the agent's id of that call
	ownTurn     bool                // the agent works on something that nobody asked for
	newsUntil   time.Time           // until when the agent may begin to tell news of background tasks that have ended
	newsGuessed bool                // of that nothing is known but that it could be
	tasks       int                 // the agent's background tasks that are alive
	leaving     bool                // the session is unused and is being ended
	writing     int                 // changes that the ledger does not have yet
	saved       int                 // changes that were given to it with save
	unsaved     []unsaved           // those that it did not take, and what came after them
	savePause   time.Duration       // before they are written again; 0 once it takes changes
	saveError   error               // why it did not take the last one of them

	watch  watch
	heard  time.Time            // last sign of life of the session, or work given to it
	told   bool                 // of the silence since then
	unkept string               // why the host cannot keep what the agent says, and does not read it; empty when it can
	tools  map[string]time.Time // until when tool calls said that they may run
	parked *park                // why nothing is begun; nil when there is no such reason
	tried  *park                // the same, while the turn that tries again runs
	limit  time.Time            // when the usage limit ends that the agent met last
	seat   seating

	asked   map[string]*ask // pending approvals by the agent's request id
	notices []Notice        // to be told with the next turn's reply

	seen  uint64   // last event taken up
	acked uint64   // last event acknowledged
	holds []uint64 // events whose effect is not durable yet, ascending

	past     []TurnID  // turns that had their outcome before; what is heard is of them
	hearing  uint64    // the event that is being taken up, 0 between events
	replayOf time.Time // when that one was heard, if the host says it again; else zero
	floor    uint64    // an earlier process has published what events up to it cause
}

// gauge mirrors counts of a lane for metrics.
type gauge struct{ sessions, running, waiting atomic.Int32 }

// An item is a message in the queue.
type item struct {
	msg      *Message
	ticket   *Ticket   // of whoever waits to hear whether it is accepted; nil when nobody does
	written  bool      // its acceptance was given to the ledger
	decides  *Approval // decided by accepting it; may be nil
	patient  bool      // it waits on rather than fail for what parks the channel
	durable  bool
	refused  bool
	moving   bool // on its way back to the queue: nothing is to happen to it before the ledger knows
	changing bool // its content is being written: it is not begun meanwhile
}

// tell says whether the message was accepted, once.
func (it *item) tell(err error) {
	if it.ticket != nil {
		it.ticket.admit(err)
		it.ticket = nil
	}
}

// A flight is a turn on its way, with its members.
type flight struct {
	turn      *Turn
	items     []*item
	frozen    bool      // durable in the ledger
	handed    bool      // given to the present session
	done      bool      // the agent says that it is done with it
	toolBegun bool      // an event showed that it began a tool
	unsure    bool      // what it did is not known: an earlier process handed it over, or its record could not be read
	answered  bool      // its outcome is decided
	folded    []*flight // turns that were folded into this one, as the agent's record shows
	attempts  int       // times it was handed over
	died      *Exit     // how the agent ended when it last had the turn, if it did
	started   time.Time
	spoke     bool           // the agent's first words about it have come
	calls     map[string]int // marks of tools by the agent's id of the call
	holds     []func()       // let events be acknowledged once the outcome is durable
	stop      *stop          // why it is being ended before its time
	timer     *time.Timer
}

// carrier is the message that carries the turn's reply: the last one.
func (f *flight) carrier() *Message { return f.items[len(f.items)-1].msg }

func (f *flight) mark(at time.Time, what, detail string) {
	const maxMarks = 200           // a turn of thousands of tool calls keeps its first ones
	if at.Before(f.turn.BegunAt) { // of a session that waited for a turn
		at = f.turn.BegunAt
	}
	if len(f.turn.Marks) < maxMarks {
		f.turn.Marks = append(f.turn.Marks, Mark{At: at, What: what, Detail: detail})
	}
}

// markCall marks the beginning of a tool call.
func (f *flight) markCall(at time.Time, call, detail string) {
	before := len(f.turn.Marks)
	if f.mark(at, markTool, detail); len(f.turn.Marks) == before || call == "" {
		return
	}
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[call] = before
}

// callEnded notes how long a tool call took.
func (f *flight) callEnded(at time.Time, call string) {
	if i, ok := f.calls[call]; ok {
		delete(f.calls, call)
		f.turn.Marks[i].Took = max(0, at.Sub(f.turn.Marks[i].At))
	}
}

// remains is what an earlier process left of a channel.
type remains struct {
	live      bool // its session host is alive
	messages  []*Message
	turns     []*Turn
	approvals []*Approval
}

func newLane(m *ProcessManager, key ChannelKey) *lane {
	l := &lane{
		m: m, key: key, log: m.o.Log.With("channel", string(key)), box: newMailbox(),
		gone:  make(chan struct{}),
		asked: map[string]*ask{},
	}
	l.sessionID, _ = m.o.Sessions.Get(key)
	return l
}

// run serves the channel until ctx ends, and leaves the session at work then, or
// until there is nothing left to do.
func (l *lane) run(ctx context.Context, r *remains) {
	defer close(l.gone)
	if r != nil {
		l.restore(r)
	}
	for {
		l.measure()
		l.lookStill()
		l.accountSeat()
		if l.retire() {
			return
		}
		l.look()
		select {
		case <-ctx.Done():
			l.leave()
			return
		case <-l.box.wake:
			l.box.drain()
		case batch, ok := <-l.events:
			l.heardNow()
			if !ok {
				l.sessionGone()
			}
			for _, ev := range batch {
				l.take(ev)
			}
			l.hearing, l.replayOf = 0, time.Time{}
			l.endStopped()
		}
	}
}

func (l *lane) measure() {
	running := 0
	for _, f := range l.flights {
		if !f.answered {
			running++
		}
	}
	l.gauge.waiting.Store(int32(len(l.pending)))
	l.gauge.running.Store(int32(running))
}

// post has the lane's goroutine run f, and reports false if the lane has retired.
func (l *lane) post(f func()) bool { return l.box.post(f) }

// async runs work off the lane's goroutine and then, on it, what work returned.
func (l *lane) async(work func(ctx context.Context) func()) {
	l.m.wg.Go(func() {
		if then := work(l.m.ctx); then != nil && l.m.ctx.Err() == nil {
			l.post(then)
		}
	})
}

// call runs f on the lane's goroutine and waits for it; errRetired if there is
// nothing to be asked any more. After an error f may still be running: nothing
// that it writes may be read.
func (l *lane) call(ctx context.Context, f func()) error {
	done := make(chan struct{})
	if !l.post(func() { f(); close(done) }) {
		return errRetired
	}
	_, err := toldBy(ctx, l, done)
	return err
}

// toldBy waits for what the lane tells. What it told is heard even if it retired right
// after that: the two are often ready at once. Otherwise a lane that has retired is
// errRetired, and one that was left ErrClosed.
func toldBy[T any](ctx context.Context, l *lane, told <-chan T) (T, error) {
	var none T
	select {
	case v := <-told:
		return v, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-l.gone:
	}
	select {
	case v := <-told:
		return v, nil
	default:
	}
	if l.m.ctx.Err() != nil {
		return none, ErrClosed
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
		l.box.drain() // once more when it is late: what was told meanwhile may wait there
		starting := l.opening || l.attaching
		if !l.admitting() && !l.deciding() && (late || !starting) {
			if starting {
				l.log.Error("left while a session was being started")
				return
			}
			break
		}
		select {
		case <-l.box.wake:
		case <-patience:
			late = true
		}
	}
	if l.watch.timer != nil {
		l.watch.timer.Stop()
	}
	for _, f := range l.flights {
		f.cancelTimer()
	}
	for _, a := range l.asked {
		a.timer.Stop()
	}
	if l.session != nil {
		l.m.hub.raise(l.key, l.host(), l.seen)
		l.session.Detach()
	}
}

// host names the process that holds the session.
func (l *lane) host() hostID { return hostID{l.info.HostPID, l.info.HostStart} }

// admitting reports whether somebody waits to hear of a message's acceptance.
func (l *lane) admitting() bool {
	waits := func(it *item) bool { return it.ticket != nil }
	return slices.ContainsFunc(l.pending, waits) ||
		slices.ContainsFunc(l.flights, func(f *flight) bool { return slices.ContainsFunc(f.items, waits) })
}

// deciding reports whether a decision is being written: the next process would ask again.
func (l *lane) deciding() bool {
	for _, a := range l.asked {
		if a.deciding {
			return true
		}
	}
	return false
}

func (f *flight) cancelTimer() {
	if f.timer != nil {
		f.timer.Stop()
	}
}

// running returns the turn the agent works on: the first without an outcome.
func (l *lane) running() *flight {
	for _, f := range l.flights {
		if !f.answered {
			return f
		}
	}
	return nil
}

func (l *lane) flight(id TurnID) *flight {
	for _, f := range l.flights {
		if f.turn.ID == id {
			return f
		}
	}
	return nil
}

func (l *lane) now() time.Time { return l.m.o.Now() }

// eventTime is when what is taken up now happened: for an event that the host says again
// that is when the host heard it first.
func (l *lane) eventTime() time.Time {
	if !l.replayOf.IsZero() {
		return l.replayOf
	}
	return l.now()
}

// listening reports whether anybody would see an update, now or a little later.
func (l *lane) listening() bool { return l.m.hub.listening(l.key) }

func (l *lane) publish(u Update) {
	if l.listening() && !l.toldBefore(&u) {
		u.At = l.now()
		l.m.hub.publish(l.key, u)
	}
}

// toldBefore reports whether the update comes from an event that the host says
// again, and an earlier process has published it. An outcome it may not have: it
// is published when it is durable, which can be after the event was taken up.
func (l *lane) toldBefore(u *Update) bool {
	if l.hearing == 0 || l.hearing > l.floor {
		return false
	}
	return u.Kind != UpdateResult || !l.m.hub.owes(l.key, u.Message.ID)
}

// open counts the channel's messages without an outcome.
func (l *lane) open() int {
	n := len(l.pending)
	for _, f := range l.flights {
		if !f.answered {
			n += len(f.items)
		}
	}
	return n
}
