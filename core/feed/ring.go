package feed

import (
	"unsafe"

	"bareclaw/core"
)

const (
	// slotBytes is the memory of an update without the texts that the update refers to.
	slotBytes = int(unsafe.Sizeof(core.Update{}))
	// textOverhead is what an allocator rounds up, by update.
	textOverhead = 32
	// firstSlots is the number of slots that a ring begins with.
	firstSlots = 16
)

// A ring holds the newest updates, oldest first, in reused memory.
type ring struct {
	slots []core.Update
	head  int // index of the oldest update
	n     int
	bytes int // sum of the updates' sizes
}

func (r *ring) push(u core.Update) {
	if r.n == maxUpdates {
		r.drop()
	}
	if r.n == len(r.slots) {
		r.resize(min(max(firstSlots, 2*r.n), maxUpdates))
	}
	r.slots[(r.head+r.n)%len(r.slots)] = u
	r.n++
	for r.bytes += updateSize(&u); r.bytes > maxStreamBytes; {
		r.drop()
	}
}

// weight returns the approximate memory taken by the ring.
func (r *ring) weight() int { return r.bytes + len(r.slots)*slotBytes }

// shrink drops the oldest updates until the ring takes at most most bytes.
func (r *ring) shrink(most int) {
	for r.n > 0 && r.bytes+r.n*slotBytes > most {
		r.drop()
	}
	if r.weight() > most {
		r.resize(r.n)
	}
}

func (r *ring) drop() {
	r.bytes -= updateSize(&r.slots[r.head])
	r.slots[r.head] = core.Update{}
	r.head = (r.head + 1) % len(r.slots)
	r.n--
}

// resize moves the updates to new slots, at least as many as there are updates.
func (r *ring) resize(slots int) {
	all := make([]core.Update, slots)
	copy(all, r.last(r.n))
	r.slots, r.head = all, 0
}

func (r *ring) last(n int) []core.Update {
	all := make([]core.Update, n)
	for i := range all {
		all[i] = r.slots[(r.head+r.n-n+i)%len(r.slots)]
	}
	return all
}

// updateSize returns the approximate memory that an update refers to, in bytes.
func updateSize(u *core.Update) int {
	n := len(u.Raw) + len(u.Detail) + textOverhead
	if u.Message != nil {
		n += int(unsafe.Sizeof(*u.Message)) + len(u.Message.Reply.Text) + len(u.Message.Reply.Error) + len(u.Message.Prompt.Text)
	}
	if u.Approval != nil {
		n += int(unsafe.Sizeof(*u.Approval)) + len(u.Approval.Input) + len(u.Approval.Suggestion) + len(u.Approval.Prompt.Text)
	}
	if u.Background != nil {
		n += len(u.Background.Text)
	}
	return n
}
