// Package progress computes the state of a channel shown to a person while the agent works:
// the present activity, the text being written, and the parts of the text delivered as
// separate messages. A [Fold] takes the updates of the channel and returns a [View]. The
// package starts no goroutines, reads no clock and does not send anything.
//
// # Said texts
//
// The agent's text comes in blocks. A complete block is pending until either of two
// events:
//
//   - A tool call or another block of text by the agent itself, in the same turn: the block
//     is said, as a separate message.
//   - The end of the turn: the block is part of the turn's answer, delivered with the reply.
//     The block is said only if the answer's text does not contain the block, for example
//     after a stop.
//
// Text of sub-agents is never said, nor text of the agent's own turns, whose result is
// delivered as a background result. A block of white space is ignored.
//
// A change of a file is reported once the call that makes the change has ended without error:
// a denied or unfinished call may have changed nothing.
//
// # Replays
//
// Updates may be repeated, to the same Fold or to a new Fold in another process. Said and
// Change have ids that are the same in each replay, and a Fold reports each id once. A new
// Fold that begins in the middle of a turn reports only facts proven by its updates: a text
// completed before is not said, and a text begun before is not shown before it is complete.
// To receive everything, resume after [View.After].
package progress

import (
	"encoding/json"
	"slices"
	"time"

	"bareclaw/core"
)

// Options configure a [Fold].
type Options struct {
	// Show finds the display events in an update's Raw. Required.
	Show func(raw json.RawMessage) []core.DisplayEvent
	// Dir is the agent's working directory: files in Dir are named relative to Dir. Empty:
	// all files are named in full.
	Dir string
}

// A Fold follows a channel. A Fold is not safe for concurrent use.
type Fold struct {
	o       Options
	news    News  // of the update being taken
	turn    *turn // running or last turn; nil before the first turn
	left    *turn // preceding turn, if the next turn began before the outcome arrived
	waiting []core.MessageID
	before  int       // number of messages ahead of waiting, otherwise unknown
	why     string    // reason for waiting
	since   time.Time // when the first message began to wait, or when its predecessor ended
	asked   []core.Approval
	tasks   int
	past    set           // messages and turns with an outcome; not bounded, because a Fold lasts while a person watches
	after   core.UpdateID // newest update before the updates that make up the View
	last    core.UpdateID
}

// New returns the Fold of a channel with unknown state.
func New(o Options) *Fold { return &Fold{o: o, past: set{}} }

// A set recognizes repetitions.
type set map[string]bool

// add adds id and reports whether id is new.
func (s set) add(id string) bool {
	if s[id] {
		return false
	}
	s[id] = true
	return true
}

// News are the results of an update beyond a changed View. The elements are in order of
// occurrence, Said before Calls and Changes.
type News struct {
	Said    []Said
	Calls   []Line // calls that have ended
	Changes []Change
	Ended   bool // the running turn has ended: see the View for the result
}

// A Said is a text delivered as a separate message.
type Said struct {
	ID     string // unique, and the same in each replay
	Turn   core.TurnID
	Text   string
	Stream string // as in [View], of the same text while streaming; may be empty
}

// Take processes an update. Updates of a channel must be taken in order; updates may be
// repeated.
func (f *Fold) Take(u core.Update) News {
	f.news = News{}
	if u.ID.Until(f.last) {
		return f.news
	}
	if !f.running() && len(f.waiting)+f.before == 0 {
		f.after = f.last
	}
	switch u.Kind {
	case core.UpdateAccepted:
		f.accepted(u)
	case core.UpdateQueued:
		f.queued(u)
	case core.UpdateParked:
		f.parked(u)
	case core.UpdateHeld:
		f.held(u)
	case core.UpdateStarted:
		f.started(u)
	case core.UpdateEvent:
		f.event(u)
	case core.UpdateStalled:
		if t := f.runs(u.Turn); t != nil {
			t.Stalled = true
		}
	case core.UpdateApproval:
		f.ask(u.Approval)
	case core.UpdateApprovalClosed:
		f.asked = slices.DeleteFunc(f.asked, func(a core.Approval) bool { return a.ID == u.Approval.ID })
	case core.UpdateResult:
		f.result(u)
	case core.UpdateDropped:
		if f.running() {
			f.turn.loseStream()
		}
	case core.UpdateRetrying: // already reported in full by the event of the agent's line
	case core.UpdateBackground, core.UpdateSession: // delivered otherwise, or reported with a reply
	}
	if !u.ID.IsZero() {
		f.last = u.ID
	}
	return f.news
}

func (f *Fold) running() bool { return f.turn != nil && f.turn.Phase == Running }

func (f *Fold) runs(id core.TurnID) *turn {
	if f.running() && f.turn.Turn == id {
		return f.turn
	}
	return nil
}

// begin makes the update's turn the running turn, and reports false if the turn is already
// over.
func (f *Fold) begin(u core.Update) bool {
	if u.Turn == "" || f.past[string(u.Turn)] {
		return false
	}
	if f.runs(u.Turn) == nil {
		if f.running() {
			f.left = f.turn
			f.past.add(string(f.left.Turn))
		}
		f.turn = &turn{View: View{Turn: u.Turn, Phase: Running, Since: u.At, Heard: u.At}, news: &f.news, dir: f.o.Dir, known: set{}}
		f.before, f.why = 0, ""
	}
	f.turn.join(u.Messages)
	f.unwait(u.Messages...)
	return true
}

// started begins a turn, unless the turn joins the running turn: when steered, the agent
// also reports a start for each turn folded into the running turn. A turn that is not folded
// in after all begins with its first event.
func (f *Fold) started(u core.Update) {
	if f.running() && f.turn.Turn != u.Turn {
		f.unwait(u.Messages...)
		return
	}
	f.begin(u)
}

// event processes a line of the agent. A line outside of any turn belongs to a turn of the
// agent's own.
func (f *Fold) event(u core.Update) {
	for _, s := range f.o.Show(u.Raw) {
		if s.Kind == core.DisplayTasks {
			f.tasks = s.Tasks
		}
		if f.begin(u) {
			f.turn.take(u.At, s)
		}
	}
	if t := f.runs(u.Turn); t != nil {
		t.Heard, t.Stalled = u.At, false
	}
}

func (f *Fold) ask(a *core.Approval) {
	known := func(b core.Approval) bool { return b.ID == a.ID }
	if !a.AsksForTool() || a.State != core.ApprovalPending || f.past[string(a.Turn)] || slices.ContainsFunc(f.asked, known) {
		return
	}
	f.asked = append(f.asked, *a)
}

// result processes the outcome of a message. The message that carries the reply ends the
// turn; earlier outcomes of the turn refer to the same reply.
func (f *Fold) result(u core.Update) {
	m := u.Message
	if m.Turn == "" && f.Position(m.ID) == 0 && !f.past[string(m.ID)] {
		f.before = max(0, f.before-1)
	}
	f.unwait(m.ID)
	f.past.add(string(m.ID))
	t := f.runs(m.Turn)
	switch {
	case f.left != nil && f.left.Turn == m.Turn && !m.Reply.Coalesced:
		f.left.finish(u.At, m.Reply)
		f.left = nil
		return
	case t == nil && (f.running() || m.Reply.Coalesced || !f.begin(core.Update{Turn: m.Turn, At: u.At})):
		return // outcome of another turn, or of a message removed from the queue
	case t != nil && m.Reply.Coalesced && !t.away(m):
		return
	}
	f.past.add(string(m.Turn))
	f.since = u.At
	f.asked = slices.DeleteFunc(f.asked, func(a core.Approval) bool { return a.Turn == m.Turn })
	f.turn.finish(u.At, m.Reply)
	f.news.Ended = true
}

func (f *Fold) accepted(u core.Update) {
	f.why = "" // a reason for waiting arrives with the next update
	f.wait(u, u.Message.ID)
}

// queued records the place of a waiting message. If the update names the running turn, the turn has
// gone back to the queue, and queued discards the turn's state.
func (f *Fold) queued(u core.Update) {
	if u.Turn != "" && f.runs(u.Turn) != nil {
		f.discard()
	}
	f.wait(u, u.Message.ID)
	if i := slices.Index(f.waiting, u.Message.ID); i >= 0 {
		f.why = u.Detail
		f.before = max(0, u.Position-1-i)
	}
}

// parked records the reason why the channel begins no turn. If the update names messages of
// the running turn, the turn has gone back to the queue, and parked discards the turn's
// state.
func (f *Fold) parked(u core.Update) {
	if f.running() && slices.ContainsFunc(f.turn.members, func(id core.MessageID) bool { return slices.Contains(u.Messages, id) }) {
		f.discard()
	}
	f.why = u.Detail
	f.wait(u, u.Messages...)
}

// discard forgets the running turn, which has gone back to the queue.
func (f *Fold) discard() {
	f.past.add(string(f.turn.Turn))
	f.turn = nil
}

// held records the reason why a turn waits for the agent to start. A turn that had begun runs
// again.
func (f *Fold) held(u core.Update) {
	if t := f.runs(u.Turn); t != nil {
		t.Retrying = u.Detail
		return
	}
	if !f.past[string(u.Turn)] {
		f.why = u.Detail
		f.wait(u, u.Messages...)
	}
}

// Adopt takes over the core's status of the channel, for a Fold that begins while a turn
// runs or messages wait: the updates may have gone to an earlier process. Updates published
// before Adopt may still be taken afterwards.
func (f *Fold) Adopt(st core.ChannelStatus) {
	if st.State == core.StateRunning && f.begin(core.Update{Turn: st.Turn, At: st.Since}) && st.Since.Before(f.turn.Since) {
		f.turn.Since = st.Since
	}
	f.before = max(0, st.Waiting-len(f.waiting))
	if !f.running() && st.Waiting > 0 {
		f.why, f.since = st.Why, st.Since
	}
}

// wait adds messages to the queue, unless already begun, ended or queued.
func (f *Fold) wait(u core.Update, ids ...core.MessageID) {
	for _, id := range ids {
		if f.past[string(id)] || slices.Contains(f.waiting, id) || f.running() && slices.Contains(f.turn.members, id) {
			continue
		}
		if len(f.waiting) == 0 {
			f.since = u.At
		}
		f.waiting = append(f.waiting, id)
	}
}

func (f *Fold) unwait(ids ...core.MessageID) {
	f.waiting = slices.DeleteFunc(f.waiting, func(id core.MessageID) bool { return slices.Contains(ids, id) })
}

// Position returns a message's place in the queue, 1 for the next; 0 for a message not known
// to wait.
func (f *Fold) Position(id core.MessageID) int {
	i := slices.Index(f.waiting, id)
	if i < 0 {
		return 0
	}
	return f.before + i + 1
}

// Open returns the messages known to wait or to be part of the running turn.
func (f *Fold) Open() []core.MessageID {
	open := slices.Clone(f.waiting)
	if f.running() {
		open = append(open, f.turn.members...)
	}
	return open
}
