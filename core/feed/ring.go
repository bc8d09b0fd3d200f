package feed

import "bareclaw/core"

// A ring holds the newest updates, oldest first, in memory that is used again.
type ring struct {
	slots []core.Update
	head  int // of the oldest
	n     int
	bytes int // size of all
}

// push adds the newest and drops what is then too much.
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

// weight is about how much memory the updates take.
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

// last returns the newest n, oldest first.
func (r *ring) last(n int) []core.Update {
	all := make([]core.Update, n)
	for i := range all {
		all[i] = r.slots[(r.head+r.n-n+i)%len(r.slots)]
	}
	return all
}
