package sessionpool

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestRandomLives: whatever sessions do, no bound is exceeded; and once all are unused each slot that waits is served.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			l := newLives(t, seed)
			for range 200 {
				l.step()
				l.check()
			}
			l.serveAll()
		})
	}
}

// lives are sessions of which anything may come to pass.
type lives struct {
	posts

	t      *testing.T
	seed   uint64
	random *rand.Rand
	pool   *Pool
	slots  []*Slot
	inUse  []bool // a session that is to be ended is in use again
	adopts bool   // sessions of an earlier process are beyond the limits
}

func newLives(t *testing.T, seed uint64) *lives {
	t.Helper()
	const slots = 10
	l := &lives{
		t:      t,
		seed:   seed,
		random: rand.New(rand.NewPCG(seed, 0)),
		inUse:  make([]bool, slots),
	}
	l.pool = New(Limits{
		Sessions: l.random.IntN(6),
		Workers:  l.random.IntN(4),
	})
	for i := range slots {
		class := Class(l.random.IntN(int(classes)))
		l.slots = append(l.slots, l.pool.Slot(class, l.post, func() { l.evict(i) }))
	}
	return l
}

// evict does what a channel does that is to give up its session.
func (l *lives) evict(i int) {
	s := l.slots[i]
	switch {
	case !s.Evicting():
	case l.inUse[i]:
		s.SetIdle(false)
	default:
		s.MarkEnding()
	}
}

// step has something come to pass.
func (l *lives) step() {
	i := l.random.IntN(len(l.slots))
	s := l.slots[i]
	switch l.random.IntN(8) {
	case 0, 1:
		s.Acquire()
	case 2:
		s.SetIdle(true)
	case 3:
		s.SetIdle(false)
	case 4:
		s.MarkEnding()
	case 5:
		s.Release()
	case 6:
		time.Sleep(time.Duration(l.random.IntN(40)) * time.Second)
	case 7:
		l.inUse[i] = !l.inUse[i]
		if l.seed%5 == 0 && l.random.IntN(10) == 0 {
			s.Adopt()
			l.adopts = true
		}
	}
	if l.random.IntN(2) == 0 {
		l.flush()
	}
}

func (l *lives) state(i int) state {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.slots[i].state
}

// check fails if there are more sessions than there may be.
func (l *lives) check() {
	l.t.Helper()
	var taken [classes]int
	for i, s := range l.slots {
		if l.state(i) >= busy {
			taken[s.class]++
		}
	}
	limits := l.pool.Limits()
	isOver := limits.Sessions > 0 && taken[People]+taken[Workers] > limits.Sessions
	if !l.adopts && (isOver || taken[Workers] > limits.Workers) {
		l.t.Fatalf("seed %d: %d sessions of people and %d of workers, of %+v", l.seed, taken[People], taken[Workers], limits)
	}
}

// serveAll has all sessions be unused, and fails if one that waits is not served.
func (l *lives) serveAll() {
	l.t.Helper()
	clear(l.inUse)
	const rounds = 200
	for range rounds {
		l.flush()
		waits := false
		for i, s := range l.slots {
			switch l.state(i) {
			case busy:
				s.SetIdle(true)
			case ending:
				s.Release()
			case waiting:
				waits = true
			case free, idle, evicting:
			}
		}
		l.check()
		if !waits {
			time.Sleep(2 * personGrace) // no timer is left
			return
		}
		time.Sleep(5 * time.Second)
	}
	l.t.Fatalf("seed %d: somebody waits still, of %+v", l.seed, l.pool.Limits())
}
