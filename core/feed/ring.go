package feed

import "bareclaw/core"

// A ring holds the newest updates, oldest first, in reused memory.
type ring struct {
	slots []core.Update
	head  int // index of the oldest update
	n     int
	bytes int // sum of the updates' sizes
}

// push appends the newest update and drops the oldest updates beyond the bounds.
func (r *ring) push(u core.Update) {
	if r.n == maxUpdates {
		r.drop()
	}
	if r.n == len(r.slots) {
		r.grow()
	}
	r.slots[(r.head+r.n)%len(r.slots)] = u
	r.n++
	for r.bytes += updateSize(&u); r.bytes > maxStreamBytes; {
		r.drop()
	}
}

// weight returns the approximate memory taken by the updates.
func (r *ring) weight() int { return r.bytes + r.n*updateOverhead }

func (r *ring) drop() {
	r.bytes -= updateSize(&r.slots[r.head])
	r.slots[r.head] = core.Update{}
	r.head = (r.head + 1) % len(r.slots)
	r.n--
}

func (r *ring) grow() {
	const first = 16
	r.slots = append(r.last(r.n), make([]core.Update, min(max(first, r.n), maxUpdates-r.n))...)
	r.head = 0
}

// last returns the newest n updates, oldest first.
func (r *ring) last(n int) []core.Update {
	all := make([]core.Update, n)
	for i := range all {
		all[i] = r.slots[(r.head+r.n-n+i)%len(r.slots)]
	}
	return all
}
