package lanes

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/core"
)

// lazyPause is longer than the ledger keeps a lazy change.
const lazyPause = 20 * time.Millisecond

// A life is one process of the gateway. Whatever a dead one asks for does not happen, as after kill -9.
type life struct {
	dead atomic.Bool
	over bool // the life has closed the ledger; guarded by the ledger's mu
}

// A testLedger is a ledger that can be slow, full or held. A test fails when a change
// contradicts the record, or gives a message a second outcome.
type testLedger struct {
	core.Ledger
	t        *testing.T
	progress atomic.Uint64
	order    chan struct{} // full while a change is passed on; guards queue and steps
	queue    []heldWrite   // written while held
	steps    int           // writes that may happen although held

	mu         sync.Mutex // guards the fields below
	held       bool
	down       error // the result of each write
	faults     []*fault
	latency    time.Duration
	unheard    bool // changes are recorded, and nobody is told
	unanswered []heldWrite
	unreadable error             // the result of reads of sessions
	watch      func(core.Change) // sees every attempt to write
	watched    func(core.Change) // sees every change before the change is recorded

	open        map[core.TurnID]bool // turns without an end
	settled     map[core.MessageID]bool
	backgrounds []string      // texts
	putBack     []core.TurnID // turns whose members wait again
	asked       []string      // ids of approvals
}

type heldWrite struct {
	c    core.Change
	done func(error)
	life *life
}

// A fault makes the next writes that match fail.
type fault struct {
	err   error
	match func(core.Change) bool
	left  int
}

// An openLedger opens a ledger without records, and closes it at the end of the test.
type openLedger func(t *testing.T) core.Ledger

func newTestLedger(t *testing.T, open openLedger) *testLedger {
	t.Helper()
	return &testLedger{
		Ledger:  open(t),
		t:       t,
		order:   make(chan struct{}, 1),
		open:    map[core.TurnID]bool{},
		settled: map[core.MessageID]bool{},
	}
}

// A ledgerOf is the ledger as one process of the gateway sees it.
type ledgerOf struct {
	*testLedger
	life *life
}

func (l ledgerOf) Write(c core.Change, done func(error)) {
	l.order <- struct{}{}
	defer func() { <-l.order }()
	w := heldWrite{c, done, l.life}
	over, held := false, false
	l.set(func() { over, held = l.life.over, l.held })
	switch {
	case over:
		go done(core.ErrClosed) // ends with the call
	case held && l.steps == 0:
		w.c = cloneChange(c)
		l.queue = append(l.queue, w)
	default:
		if held {
			l.steps--
		}
		l.forward(w)
	}
}

// forward attempts a write.
func (l *testLedger) forward(w heldWrite) {
	c, err := w.c, l.fault(w.c)
	if err != nil {
		c = core.Change{}
	} else if l.watched != nil {
		l.watched(c)
	}
	record := l.recorder(c)
	l.Ledger.Write(c, func(ledgerErr error) { l.answer(w, c, record, ledgerErr, err) })
}

// fault returns the error that a write is to have.
func (l *testLedger) fault(c core.Change) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch != nil {
		l.watch(c)
	}
	if l.down != nil {
		return l.down
	}
	for _, f := range l.faults {
		if f.left > 0 && f.match(c) {
			f.left--
			return f.err
		}
	}
	return nil
}

// recorder returns a function that notes what the change has recorded. The caller of Write may change the records
// after Write.
func (l *testLedger) recorder(c core.Change) func() {
	var begun, ended []core.TurnID
	for _, t := range c.Begin {
		begun = append(begun, t.ID)
	}
	for _, t := range c.End {
		ended = append(ended, t.ID)
	}
	var settled []core.MessageID
	for _, s := range c.Settle {
		settled = append(settled, s.ID)
	}
	var texts, asked []string
	for _, b := range c.Background {
		texts = append(texts, b.Text)
	}
	for _, a := range c.Approvals {
		asked = append(asked, a.ID)
	}
	back := len(c.Requeue) > 0
	return func() {
		for _, id := range begun {
			l.open[id] = true
		}
		for _, id := range ended {
			delete(l.open, id)
		}
		for _, id := range settled {
			if l.settled[id] {
				l.t.Errorf("ledger: message %s has a second outcome", id)
			}
			l.settled[id] = true
		}
		l.backgrounds, l.asked = append(l.backgrounds, texts...), append(l.asked, asked...)
		if back {
			l.putBack = append(l.putBack, ended...)
		}
	}
}

// answer tells the writer the result of a write: the ledger's, or the given error.
func (l *testLedger) answer(w heldWrite, c core.Change, record func(), err, fault error) {
	l.mu.Lock()
	refused := (*core.DuplicateError)(nil)
	switch {
	case err == nil:
		record()
	case errors.As(err, &refused), errors.Is(err, core.ErrClosed), len(c.Begin) > 0, len(c.Background) > 0:
	default:
		l.t.Errorf("ledger: %v", err)
	}
	latency, unheard := l.latency, l.unheard
	if unheard {
		l.unanswered = append(l.unanswered, w)
	}
	l.mu.Unlock()
	if unheard {
		return
	}
	time.Sleep(latency)
	l.progress.Add(1)
	if w.life.dead.Load() {
		go w.done(core.ErrClosed) // ends with the call
		return
	}
	if fault != nil {
		err = fault
	}
	w.done(err)
}

func (l *testLedger) Progress() uint64 { return l.progress.Load() }

func (l *testLedger) SessionUse(ctx context.Context, id string) (core.SessionUse, error) {
	l.mu.Lock()
	err := l.unreadable
	l.mu.Unlock()
	if err != nil {
		return core.SessionUse{}, err
	}
	return l.Ledger.SessionUse(ctx, id)
}

// set changes the ledger's behaviour.
func (l *testLedger) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// closeFor has the ledger take nothing more from a life that has ended.
func (l *testLedger) closeFor(by *life) { l.set(func() { by.over = true }) }

// kill drops what a life that was killed still waits for. Its goroutines are told that the ledger is closed, which
// lets them end as the kill would.
func (l *testLedger) kill(by *life) {
	l.closeFor(by)
	drop := func(w heldWrite) bool {
		if w.life != by {
			return false
		}
		go w.done(core.ErrClosed) // ends with the call
		return true
	}
	l.order <- struct{}{}
	defer func() { <-l.order }()
	l.queue = slices.DeleteFunc(l.queue, drop)
	l.set(func() { l.unanswered = slices.DeleteFunc(l.unanswered, drop) })
}

// hold makes everything written from now on wait until release.
func (l *testLedger) hold() { l.set(func() { l.held = true }) }

// step lets n writes happen although the ledger is held.
func (l *testLedger) step(n int) {
	l.order <- struct{}{}
	defer func() { <-l.order }()
	for l.steps = n; l.steps > 0 && len(l.queue) > 0; l.steps-- {
		l.forward(l.queue[0])
		l.queue = l.queue[1:]
	}
}

func (l *testLedger) release() {
	l.step(math.MaxInt)
	l.step(0)
	l.set(func() { l.held = false })
}

// slow makes each write take some time.
func (l *testLedger) slow(d time.Duration) { l.set(func() { l.latency = d }) }

// setUnheard has changes be on record without anybody being told.
func (l *testLedger) setUnheard(unheard bool) { l.set(func() { l.unheard = unheard }) }

// setDown makes every write fail with err, or none if err is nil.
func (l *testLedger) setDown(err error) { l.set(func() { l.down = err }) }

// setUnreadable makes reads of sessions fail with err, or none if err is nil.
func (l *testLedger) setUnreadable(err error) { l.set(func() { l.unreadable = err }) }

// fail makes the next n writes that match fail with err.
func (l *testLedger) fail(err error, n int, match func(core.Change) bool) {
	l.set(func() { l.faults = append(l.faults, &fault{err: err, match: match, left: n}) })
}

// forget drops all faults.
func (l *testLedger) forget() { l.set(func() { l.faults = nil }) }

// faultless reports whether changes are recorded at once.
func (l *testLedger) faultless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.held && l.down == nil && l.latency == 0 && !slices.ContainsFunc(l.faults, func(f *fault) bool { return f.left > 0 })
}

func accepts(c core.Change) bool { return len(c.Accept) > 0 }
func begins(c core.Change) bool  { return len(c.Begin) > 0 }
func settles(c core.Change) bool { return len(c.Settle) > 0 }

// isDone reports whether everything that a lane may still ask about the turn is on record: then events about the
// turn need no replay.
func (l *testLedger) isDone(id core.TurnID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.open[id]
}

// hasBackground reports whether a background result is on record.
func (l *testLedger) hasBackground(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.backgrounds, text)
}

// cloneChange copies what the caller may change once Write has returned.
func cloneChange(c core.Change) core.Change {
	c.Accept, c.Amend = cloneAll(c.Accept), cloneAll(c.Amend)
	c.Begin, c.Update, c.End = cloneAll(c.Begin), cloneAll(c.Update), cloneAll(c.End)
	c.Approvals, c.Background, c.Deliver = cloneAll(c.Approvals), cloneAll(c.Background), cloneAll(c.Deliver)
	c.Redeliver = cloneAll(c.Redeliver)
	c.Settle, c.Requeue = slices.Clone(c.Settle), slices.Clone(c.Requeue)
	return c
}

func cloneAll[T any](all []*T) []*T {
	out := make([]*T, len(all))
	for i, v := range all {
		c := *v
		out[i] = &c
	}
	return out
}
