package sessionpool

import (
	"slices"
	"testing"
)

// posts runs posted functions when flush is called, as the goroutine of a channel does later.
type posts struct{ waiting []func() }

func (p *posts) post(f func()) bool {
	p.waiting = append(p.waiting, f)
	return true
}

func (p *posts) flush() {
	for len(p.waiting) > 0 {
		f := p.waiting[0]
		p.waiting = p.waiting[1:]
		f()
	}
}

// TestEviction: the least recently used unused session makes room, used sessions do not, and
// waiting slots are served in order.
func TestEviction(t *testing.T) {
	t.Parallel()
	var q posts
	var evicted []string
	p := New(2)
	slots := map[string]*Slot{}
	inUse := map[string]bool{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		slots[name] = p.Slot(q.post, func() {
			s := slots[name]
			if !s.Evicting() {
				return
			}
			if inUse[name] {
				s.SetIdle(false)
				return
			}
			evicted = append(evicted, name)
			s.MarkEnding()
		})
	}
	if !slots["a"].Acquire() || !slots["b"].Acquire() || slots["c"].Acquire() || slots["d"].Acquire() {
		t.Fatal("the first two slots are free, and no others")
	}
	slots["b"].SetIdle(true)
	slots["a"].SetIdle(true) // both are evicted, b first
	inUse["b"] = true
	q.flush()
	if !slices.Equal(evicted, []string{"a"}) || slots["b"].Evicting() {
		t.Fatalf("evicted %q", evicted)
	}
	slots["a"].Release()
	q.flush()
	if slots["c"].Waiting() || !slots["d"].Waiting() || !slots["a"].Free() {
		t.Fatal("the place of a belongs to c, the first to wait")
	}
	if slots["a"].Acquire() {
		t.Fatal("a waits behind d")
	}
	slots["d"].Release()
	slots["b"].Release()
	q.flush()
	if slots["a"].Waiting() || len(evicted) != 1 {
		t.Fatalf("a is next, evicted %q", evicted)
	}
	slots["e"].Adopt() // beyond the limit
	slots["c"].Release()
	if slots["b"].Acquire() {
		t.Fatal("an adopted session takes a place")
	}
	if free := New(0).Slot(q.post, nil); !free.Acquire() || !free.Free() {
		t.Fatal("without a limit slots are always free")
	}
}

func TestLimitFor(t *testing.T) {
	t.Parallel()
	for memory, want := range map[uint64]int{0: 0, 100 << 20: 1, 2 << 30: 5, 16 << 30: 40} {
		if got := LimitFor(memory); got != want {
			t.Errorf("%d sessions in %d bytes, want %d", got, memory, want)
		}
	}
}
