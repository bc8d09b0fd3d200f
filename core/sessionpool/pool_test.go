package sessionpool

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// posts runs posted functions when flush is called, as the goroutine of a channel does later.
type posts struct {
	mu      sync.Mutex // protects waiting
	waiting []func()
}

func (p *posts) post(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, f)
	return true
}

func (p *posts) flush() {
	for f := p.next(); f != nil; f = p.next() {
		f()
	}
}

func (p *posts) next() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil
	}
	f := p.waiting[0]
	p.waiting = p.waiting[1:]
	return f
}

// TestEviction: the least recently used unused session makes room, used sessions do not, and
// waiting slots are served in order.
func TestEviction(t *testing.T) {
	t.Parallel()
	var q posts
	var evicted []string
	p := New(Limits{Sessions: 2})
	slots := map[string]*Slot{}
	inUse := map[string]bool{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		slots[name] = p.Slot(People, q.post, func() {
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
	if free := New(Limits{}).Slot(People, q.post, nil); !free.Acquire() || !free.Free() {
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

// A seating is a pool with named slots, whose unused sessions end at once when they are evicted.
type seating struct {
	posts

	pool    *Pool
	slots   map[string]*Slot
	evicted []string
}

func newSeating(l Limits) *seating {
	return &seating{
		pool:  New(l),
		slots: map[string]*Slot{},
	}
}

// slot returns the slot of a name: those that begin with w are workers.
func (s *seating) slot(name string) *Slot {
	if slot := s.slots[name]; slot != nil {
		return slot
	}
	class := People
	if name[0] == 'w' {
		class = Workers
	}
	s.slots[name] = s.pool.Slot(class, s.post, func() {
		s.evicted = append(s.evicted, name)
		s.slots[name].MarkEnding()
	})
	return s.slots[name]
}

// acquired returns which of the slots have a session after they have asked for one, in order.
func (s *seating) acquired(names ...string) []string {
	var got []string
	for _, name := range names {
		if s.slot(name).Acquire() {
			got = append(got, name)
		}
	}
	return got
}

// release frees slots, and has the others take their places.
func (s *seating) release(names ...string) {
	s.flush()
	for _, name := range names {
		s.slot(name).Release()
	}
	s.flush()
}

func (s *seating) expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %q, want %q", what, got, want)
	}
}

// TestWorkersHaveTheirSeats: workers have no more sessions than there are seats for them, also where people
// have any number.
func TestWorkersHaveTheirSeats(t *testing.T) {
	t.Parallel()
	for _, l := range []Limits{{Sessions: 4}, {Workers: 2}, {Sessions: 8, Workers: 2}} {
		s := newSeating(l)
		s.expect(t, "workers", s.acquired("w1", "w2", "w3"), []string{"w1", "w2"})
		s.expect(t, "people", s.acquired("p1", "p2"), []string{"p1", "p2"})
		s.release("w1")
		if s.slot("w3").Waiting() {
			t.Fatalf("with %+v the place of a worker is not that of the next one", l)
		}
	}
	if got := New(Limits{}).Limits().Workers; got != unlimitedWorkers {
		t.Errorf("%d workers beside any number of people, want %d", got, unlimitedWorkers)
	}
	if got := New(Limits{Sessions: 1}).Limits().Workers; got != 1 {
		t.Errorf("%d workers of one session, want 1", got)
	}
}

// TestPeopleComeFirst: a person that waits gets the next place, whose ever it was, and unused sessions of workers end for
// people before those of people.
func TestPeopleComeFirst(t *testing.T) {
	t.Parallel()
	s := newSeating(Limits{Sessions: 2, Workers: 2})
	s.expect(t, "at first", s.acquired("w1", "w2", "w3", "p1"), []string{"w1", "w2"})
	s.release("w1")
	if s.slot("p1").Waiting() || !s.slot("w3").Waiting() {
		t.Fatal("the place is not that of the person")
	}
	s.slot("p1").SetIdle(true)
	s.slot("w2").SetIdle(true)
	s.flush()
	s.expect(t, "evicted for a worker", s.evicted, []string{"w2"})
	s.expect(t, "another person", s.acquired("p2"), nil)
	s.release("w2")
	if s.slot("p2").Waiting() || !s.slot("w3").Waiting() {
		t.Fatal("the place is not that of the other person")
	}
}

// TestWorkersLeaveAloneWhatWasJustUsed: a worker takes the place of a person's session a minute after its last use.
func TestWorkersLeaveAloneWhatWasJustUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSeating(Limits{Sessions: 2, Workers: 1})
		s.expect(t, "people", s.acquired("p1", "p2"), []string{"p1", "p2"})
		s.slot("p1").SetIdle(true)
		time.Sleep(personGrace / 2)
		s.slot("p2").SetIdle(true)
		s.expect(t, "a worker", s.acquired("w1"), nil)
		time.Sleep(personGrace/2 - time.Second)
		synctest.Wait()
		s.flush()
		s.expect(t, "evicted early", s.evicted, nil)
		time.Sleep(time.Second)
		synctest.Wait()
		s.release("p1")
		s.expect(t, "evicted", s.evicted, []string{"p1"})
		if s.slot("w1").Waiting() {
			t.Fatal("the worker waits still")
		}
		time.Sleep(personGrace)
		synctest.Wait()
		s.flush()
		s.expect(t, "evicted at the end", s.evicted, []string{"p1"})
	})
}

// TestWorkersAdopted: workers of an earlier process beyond the limit make room before another one begins.
func TestWorkersAdopted(t *testing.T) {
	t.Parallel()
	s := newSeating(Limits{Workers: 1})
	s.slot("w1").Adopt()
	s.slot("w2").Adopt()
	s.expect(t, "a third", s.acquired("w3"), nil)
	s.slot("w1").SetIdle(true)
	s.slot("w2").SetIdle(true)
	s.release("w1")
	if !s.slot("w3").Waiting() {
		t.Fatal("there are two workers where one may be")
	}
	s.release("w2")
	s.expect(t, "evicted", s.evicted, []string{"w1", "w2"})
	if s.slot("w3").Waiting() {
		t.Fatal("the worker waits still")
	}
}
