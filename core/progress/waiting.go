package progress

import (
	"slices"

	"bareclaw/core"
)

func (f *Fold) accepted(u core.Update) {
	f.why = "" // a reason for waiting arrives with the next update
	f.wait(u, u.Message.ID)
}

func (f *Fold) queued(u core.Update) {
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
		f.past.add(string(f.turn.Turn))
		f.turn = nil
	}
	f.why = u.Detail
	f.wait(u, u.Messages...)
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
