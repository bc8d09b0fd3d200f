// Package progress keeps what a person sees of one channel while the agent works:
// what it does now, the text that it writes, and what of all that is a message of
// its own. It is a fold: updates of the channel go in, a [View] comes out. It
// starts no goroutine, reads no clock and knows nothing of how things are sent.
//
// # What is said
//
// The agent's text comes in blocks. A block that is complete waits until it is
// known what it is:
//
//   - A call of a tool, or another block of text, by the agent itself in the same
//     turn follows: the block is said. It is a message of its own.
//   - The turn ends: the block is part of the turn's answer, which is delivered as
//     such. It is said only if the text of the answer does not contain it, as
//     where the turn was stopped.
//
// Words of sub-agents are never said, nor what the agent tells in turns of its own,
// whose result is delivered as a background result. A block without anything but
// white space is nothing.
//
// A change of a file is told when the call that makes it has ended without error:
// one that was denied, or whose end never came, has perhaps changed nothing.
//
// # Replays
//
// Updates may come again, to the same Fold or to a new one in another process.
// Said and Change bear ids that are the same each time, and one Fold tells each
// once. A new Fold that begins in the middle of a turn tells nothing that the
// updates it got do not prove: a text that had been complete before them is not
// said by it, and a text that had begun is not shown before it is complete. To
// have all of it, resume after [View.After].
package progress

import (
	"encoding/json"
	"slices"
	"time"

	"bareclaw/core"
)

// Options are what a [Fold] needs.
type Options struct {
	// Show finds what an update's Raw shows. Required.
	Show func(raw json.RawMessage) []core.DisplayEvent
	// Dir is the directory that the agent works in: files in it are named from
	// there. Empty: all are named in full.
	Dir string
}

// A Fold follows one channel. It is not safe for concurrent use.
type Fold struct {
	o       Options
	turn    *turn // the running one, or the last; nil when there is none
	left    *turn // the one before, if the next began before its end was told
	waiting []core.MessageID
	before  int       // messages that wait before those, of which nothing else is known
	why     string    // what keeps them waiting
	since   time.Time // since when the first waits, or since its predecessor ended
	asked   []core.Approval
	tasks   int
	past    recent        // messages and turns that have their outcome
	after   core.UpdateID // the newest update before those that count for the View
	last    core.UpdateID
}

// New returns the Fold of a channel of which nothing is known.
func New(o Options) *Fold { return &Fold{o: o, past: newRecent(256)} }

// News is what an update brings beyond a changed View. The order is that in which
// it happened, Said before Changes.
type News struct {
	Said    []Said
	Changes []Change
	Ended   bool // the running turn has ended: the View says how
}

// A Said is a text that is a message of its own.
type Said struct {
	ID     string // unique, and the same in each replay
	Turn   core.TurnID
	Text   string
	Stream string // as in [View], of the same text while it was streamed; may be empty
}

// Take takes up an update. Those of a channel must come in their order; the same
// ones may come again.
func (f *Fold) Take(u core.Update) News {
	var n News
	if u.ID.Until(f.last) {
		return n
	}
	if f.idle() {
		f.after = f.last
	}
	switch u.Kind {
	case core.UpdateAccepted:
		f.accepted(u)
	case core.UpdateQueued:
		f.queued(u)
	case core.UpdateParked:
		f.parked(u)
	case core.UpdateStarted:
		f.started(u)
	case core.UpdateEvent:
		n = f.event(u)
	case core.UpdateStalled:
		if t := f.runs(u.Turn); t != nil {
			t.stalled = true
		}
	case core.UpdateApproval:
		f.ask(u.Approval)
	case core.UpdateApprovalClosed:
		f.asked = slices.DeleteFunc(f.asked, func(a core.Approval) bool { return a.ID == u.Approval.ID })
	case core.UpdateResult:
		n = f.result(u)
	case core.UpdateDropped:
		if f.running() {
			f.turn.loseStream()
		}
	case core.UpdateRetrying: // its line was an event, and says it shorter
	case core.UpdateBackground, core.UpdateSession: // delivered, or told with a reply
	}
	if !u.ID.IsZero() {
		f.last = u.ID
	}
	return n
}

// running reports whether a turn runs.
func (f *Fold) running() bool { return f.turn != nil && f.turn.end == nil }

// runs returns the turn of that id if it is the running one.
func (f *Fold) runs(id core.TurnID) *turn {
	if f.running() && f.turn.id == id {
		return f.turn
	}
	return nil
}

func (f *Fold) idle() bool { return !f.running() && len(f.waiting)+f.before == 0 }

// begin makes the turn the running one, and reports whether it is not over already.
func (f *Fold) begin(u core.Update) bool {
	if u.Turn == "" || f.past.has(string(u.Turn)) {
		return false
	}
	if f.runs(u.Turn) == nil {
		if f.running() {
			f.left = f.turn
			f.past.add(string(f.left.id))
		}
		f.turn = &turn{id: u.Turn, since: u.At, heard: u.At, dir: f.o.Dir, known: newRecent(2048)}
		f.before, f.why = 0, ""
	}
	f.turn.join(u.Messages)
	f.unwait(u.Messages...)
	return true
}

// started begins a turn, unless it is one that joins the running one: an agent that
// is steered says of what it folds into its turn that it is started. Should it be no
// part of that, its events name it.
func (f *Fold) started(u core.Update) {
	if f.running() && f.turn.id != u.Turn {
		f.unwait(u.Messages...)
		return
	}
	f.begin(u)
}

// event takes up a line of the agent. Without a turn it is of one of its own.
func (f *Fold) event(u core.Update) News {
	var n News
	for _, s := range f.o.Show(u.Raw) {
		if s.Kind == core.DisplayTasks {
			f.tasks = s.Tasks
		}
		n.add(f.shown(u, s))
	}
	if t := f.runs(u.Turn); t != nil {
		t.heard, t.stalled = u.At, false
	}
	return n
}

func (f *Fold) shown(u core.Update, s core.DisplayEvent) News {
	if !f.begin(u) {
		return News{}
	}
	return f.turn.take(u.At, s)
}

func (n *News) add(m News) {
	n.Said, n.Changes = append(n.Said, m.Said...), append(n.Changes, m.Changes...)
}

func (f *Fold) ask(a *core.Approval) {
	known := func(b core.Approval) bool { return b.ID == a.ID }
	if a.Kind != core.ApprovalTool || a.State != core.ApprovalPending || f.past.has(string(a.Turn)) || slices.ContainsFunc(f.asked, known) {
		return
	}
	f.asked = append(f.asked, *a)
}

// result takes up the outcome of a message. The one that carries the reply ends its
// turn; where others come before that, they are only shares of it.
func (f *Fold) result(u core.Update) News {
	m := u.Message
	if m.Turn == "" && f.Position(m.ID) == 0 && !f.past.has(string(m.ID)) {
		f.before = max(0, f.before-1)
	}
	f.unwait(m.ID)
	f.past.add(string(m.ID))
	t := f.runs(m.Turn)
	switch {
	case f.left != nil && f.left.id == m.Turn && !m.Reply.Coalesced:
		n := f.left.finish(u.At, m.Reply)
		f.left = nil
		return n
	case t == nil && (f.running() || m.Reply.Coalesced || !f.begin(core.Update{Turn: m.Turn, At: u.At})):
		return News{} // of another turn, or of a message that was taken out of the queue
	case t != nil && m.Reply.Coalesced && !t.away(m):
		return News{}
	}
	f.past.add(string(m.Turn))
	f.since = u.At
	f.asked = slices.DeleteFunc(f.asked, func(a core.Approval) bool { return a.Turn == m.Turn })
	n := f.turn.finish(u.At, m.Reply)
	n.Ended = true
	return n
}
