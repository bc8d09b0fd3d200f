package lanes

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/core"
)

// errContradiction is what the ledger says of a change that does not fit what it
// has, and that no retry can help.
var errContradiction = errors.New("contradicts the record")

// lazyPause is how long the ledger keeps a change that nobody waits for.
const lazyPause = 5 * time.Millisecond

// A life is one process of the gateway. Whatever a dead one asks for does not
// happen any more, as after kill -9.
type life struct {
	dead atomic.Bool
	over bool // it has closed the ledger, whose mu guards this
}

// A fakeLedger keeps the contract of [Ledger] in memory, and fails the test when
// it is asked for what must never be: a second outcome, or the end of something
// it does not know. Its methods but Write are the reads; see ledgerOf.
type fakeLedger struct {
	progress atomic.Uint64

	t *testing.T

	mu      sync.Mutex
	changed *sync.Cond
	queue   []fakeWrite
	held    bool
	steps   int // writes that may happen although held
	latency time.Duration
	closed  bool
	down    error // what every write is answered with
	faults  []*fault
	watch   func(core.Change) // sees every attempt to write

	messages    map[core.MessageID]*core.Message
	turns       map[core.TurnID]*core.Turn
	approvals   map[string]*core.Approval
	accepted    []core.MessageID
	begun       []core.TurnID
	putBack     []core.TurnID // whose members wait again
	asked       []string
	backgrounds []core.Background
	sources     map[string]core.MessageID
	uses        map[string]core.SessionUse
	unreadable  error // see setUnreadable
	spent       map[string]float64
	outbox      fakeOutbox
	settings    map[core.ChannelKey]core.Settings
	unheard     bool        // see setUnheard
	unanswered  []fakeWrite // written while unheard
	disorder    []string    // see firstComesFirst
	overtaken   [][2]core.MessageID
}

type fakeWrite struct {
	c      core.Change
	done   func(error)
	life   *life
	marker bool
	at     time.Time
}

// A fault makes the next writes that match fail.
type fault struct {
	err   error
	match func(core.Change) bool
	left  int
}

func newFakeLedger(t *testing.T) *fakeLedger {
	l := &fakeLedger{
		t: t, messages: map[core.MessageID]*core.Message{}, turns: map[core.TurnID]*core.Turn{}, approvals: map[string]*core.Approval{},
		sources: map[string]core.MessageID{}, uses: map[string]core.SessionUse{}, spent: map[string]float64{}, settings: map[core.ChannelKey]core.Settings{},
	}
	l.changed = sync.NewCond(&l.mu)
	go l.run() // ends by close
	return l
}

func (l *fakeLedger) run() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		w, ok := l.nextLocked()
		if !ok {
			if l.closed {
				return
			}
			l.changed.Wait()
			continue
		}
		l.steps = max(0, l.steps-1)
		if latency := l.latency; latency > 0 && !w.marker {
			l.mu.Unlock()
			time.Sleep(latency)
			l.mu.Lock()
		}
		if w.life != nil && w.life.dead.Load() {
			go w.done(core.ErrClosed) // ends with the call
			continue
		}
		var err error
		if !w.marker {
			err = l.attemptLocked(w.c)
		}
		if l.unheard && !w.marker {
			l.unanswered = append(l.unanswered, w)
			continue
		}
		l.mu.Unlock()
		l.progress.Add(1)
		w.done(err)
		l.mu.Lock()
	}
}

func (l *fakeLedger) Progress() uint64 { return l.progress.Load() }

// nextLocked takes from the queue what is to be written now. What nobody waits
// for is overtaken by what somebody waits for, until it has waited for lazyPause
// or somebody wants to read it.
func (l *fakeLedger) nextLocked() (w fakeWrite, ok bool) {
	if l.held && l.steps == 0 && !l.closed {
		return fakeWrite{}, false
	}
	lazy := slices.IndexFunc(l.queue, func(w fakeWrite) bool { return w.c.Lazy })
	next := slices.IndexFunc(l.queue, func(w fakeWrite) bool { return !w.c.Lazy })
	if lazy >= 0 {
		left := lazyPause - time.Since(l.queue[lazy].at)
		switch {
		case left <= 0, l.closed, next > lazy && l.queue[next].marker:
			next = lazy
		case next < 0:
			time.AfterFunc(left, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.changed.Broadcast()
			})
		}
	}
	if next < 0 {
		return fakeWrite{}, false
	}
	w = l.queue[next]
	l.queue = slices.Delete(l.queue, next, next+1)
	return w, true
}

func (l *fakeLedger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}

// closeFor has the ledger take nothing more from a life that has ended.
func (l *fakeLedger) closeFor(by *life) {
	l.mu.Lock()
	defer l.mu.Unlock()
	by.over = true
}

// kill drops what a life that was killed still waits for. Its goroutines are told that
// the ledger is closed, which lets them end as the kill would.
func (l *fakeLedger) kill(by *life) {
	l.mu.Lock()
	defer l.mu.Unlock()
	by.over = true
	drop := func(w fakeWrite) bool {
		if w.life != by {
			return false
		}
		go w.done(core.ErrClosed) // ends with the call
		return true
	}
	l.queue = slices.DeleteFunc(l.queue, drop)
	l.unanswered = slices.DeleteFunc(l.unanswered, drop)
}

// hold makes everything written from now on wait until release.
func (l *fakeLedger) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

// slow makes each write take some time.
func (l *fakeLedger) slow(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latency = d
}

// step lets n of the held writes happen.
func (l *fakeLedger) step(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = n
	l.changed.Broadcast()
}

func (l *fakeLedger) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	l.changed.Broadcast()
}

// setUnheard has what is written be on record without anybody being told.
func (l *fakeLedger) setUnheard(unheard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unheard = unheard
}

// setDown makes every write fail with err, or none if err is nil.
func (l *fakeLedger) setDown(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = err
}

// fail makes the next n writes that match fail with err.
func (l *fakeLedger) fail(err error, n int, match func(core.Change) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, &fault{err: err, match: match, left: n})
}

// forget drops all scripted failures.
func (l *fakeLedger) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = nil
}

func accepts(c core.Change) bool { return len(c.Accept) > 0 }
func begins(c core.Change) bool  { return len(c.Begin) > 0 }
func settles(c core.Change) bool { return len(c.Settle) > 0 }

func (l *fakeLedger) write(by *life, c core.Change, done func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if by != nil && by.over {
		go done(core.ErrClosed) // ends with the call
		return
	}
	l.queue = append(l.queue, fakeWrite{c: cloneChange(c), done: done, life: by, at: time.Now()})
	l.changed.Broadcast()
}

// cloneChange copies what the caller may change once Write has returned.
func cloneChange(c core.Change) core.Change {
	c.Accept = cloneAll(c.Accept, cloneMessage)
	c.Begin = cloneAll(c.Begin, cloneTurn)
	c.Update = cloneAll(c.Update, cloneTurn)
	c.End = cloneAll(c.End, cloneTurn)
	c.Settle, c.Requeue = slices.Clone(c.Settle), slices.Clone(c.Requeue)
	c.Approvals = cloneAll(c.Approvals, func(a *core.Approval) *core.Approval { b := *a; return &b })
	c.Amend = cloneAll(c.Amend, cloneMessage)
	c.Background = cloneAll(c.Background, func(a *core.Background) *core.Background { b := *a; return &b })
	return c
}

func cloneAll[T any](in []*T, clone func(*T) *T) []*T {
	out := make([]*T, len(in))
	for i, v := range in {
		out[i] = clone(v)
	}
	return out
}

func cloneMessage(m *core.Message) *core.Message { c := *m; return &c }

func cloneTurn(t *core.Turn) *core.Turn {
	c := *t
	c.Members, c.Line = slices.Clone(t.Members), slices.Clone(t.Line)
	c.Notices, c.Marks = slices.Clone(t.Notices), slices.Clone(t.Marks)
	return &c
}

func (l *fakeLedger) attemptLocked(c core.Change) error {
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
	if err := l.checkLocked(c); err != nil {
		return err
	}
	l.applyLocked(c)
	return nil
}

// checkLocked refuses a change that does not fit. What cannot be the fault of
// the storage, but only of the lane, fails the test.
func (l *fakeLedger) checkLocked(c core.Change) error {
	waiting := map[core.MessageID]bool{}
	for _, m := range c.Accept {
		if id, ok := l.sources[m.SourceKey]; ok {
			return &core.DuplicateError{Existing: id, Hash: l.messages[id].SourceHash}
		}
		if l.messages[m.ID] != nil || m.State != core.Waiting || m.ID == "" {
			l.t.Errorf("ledger: message %s accepted in state %q (known: %v)", m.ID, m.State, l.messages[m.ID] != nil)
			return errContradiction
		}
		waiting[m.ID] = true
	}
	for _, t := range c.Begin {
		if l.turns[t.ID] != nil || len(t.Members) == 0 || len(t.Line) == 0 || t.SessionID == "" {
			l.t.Errorf("ledger: turn %s begun with members %v, session %q", t.ID, t.Members, t.SessionID)
			return errContradiction
		}
		for _, id := range t.Members {
			if m := l.messages[id]; !waiting[id] && (m == nil || m.State != core.Waiting) {
				return fmt.Errorf("begin turn: message %s does not wait: %w", id, errContradiction)
			}
			waiting[id] = false
		}
	}
	for _, t := range slices.Concat(c.Update, c.End) {
		if known := l.turns[t.ID]; known == nil || !known.EndedAt.IsZero() {
			l.t.Errorf("ledger: turn %s changed, which is unknown (%v) or has ended", t.ID, known == nil)
			return errContradiction
		}
	}
	for _, id := range c.Requeue {
		m := l.messages[id]
		ends := m != nil && slices.ContainsFunc(c.End, func(t *core.Turn) bool { return t.ID == m.Turn })
		if !ends || m.State.Final() || c.Lazy {
			l.t.Errorf("ledger: message %s (%+v) put back, its turn ends: %v", id, m, ends)
			return errContradiction
		}
	}
	for _, b := range c.Background {
		if slices.ContainsFunc(l.backgrounds, func(known core.Background) bool { return known.ID == b.ID }) {
			return fmt.Errorf("background result %s is known: %w", b.ID, errContradiction)
		}
	}
	for _, id := range changedMessages(c) {
		if m := l.messages[id]; m == nil || m.State != core.Waiting || c.Lazy {
			l.t.Errorf("ledger: message %s (%+v) changed, which does not wait", id, m)
			return errContradiction
		}
	}
	for _, s := range c.Settle {
		m := l.messages[s.ID]
		if m == nil || m.State.Final() || !s.Reply.State.Final() || s.EndedAt.IsZero() {
			l.t.Errorf("ledger: message %s (%+v) settled as %+v", s.ID, m, s)
			return errContradiction
		}
	}
	return nil
}

// changedMessages lists the messages that are amended, or put at another place.
func changedMessages(c core.Change) []core.MessageID {
	var ids []core.MessageID
	for _, m := range c.Amend {
		ids = append(ids, m.ID)
	}
	for _, p := range c.Reorder {
		ids = append(ids, p.ID)
	}
	return ids
}

func (l *fakeLedger) applyLocked(c core.Change) {
	l.outbox.apply(c)
	for _, m := range c.Accept {
		l.messages[m.ID] = m
		l.accepted = append(l.accepted, m.ID)
		if m.SourceKey != "" {
			l.sources[m.SourceKey] = m.ID
		}
	}
	for _, t := range c.Begin {
		l.firstComesFirst(t)
		l.turns[t.ID] = t
		l.begun = append(l.begun, t.ID)
		for _, id := range t.Members {
			m := l.messages[id]
			m.State, m.Turn, m.DispatchedAt = core.Running, t.ID, t.BegunAt
		}
		l.openedLocked(t)
	}
	for _, t := range c.Update {
		known := l.turns[t.ID]
		known.SessionID, known.Opens, known.Notices = t.SessionID, t.Opens, t.Notices
		l.openedLocked(t)
	}
	for _, id := range c.Requeue {
		m := l.messages[id]
		l.putBack = append(l.putBack, m.Turn)
		m.State, m.Turn, m.DispatchedAt = core.Waiting, "", time.Time{}
	}
	for _, s := range c.Settle {
		m := l.messages[s.ID]
		m.State, m.EndedAt, m.Reply = s.Reply.State, s.EndedAt, s.Reply
	}
	for _, t := range c.End {
		l.turns[t.ID] = t
		l.spent[core.Day(t.EndedAt)] += t.CostUSD
		if t.Result != nil {
			use := l.uses[t.SessionID]
			use.Completed, use.TotalCost = true, max(use.TotalCost, t.Result.TotalCost)
			l.uses[t.SessionID] = use
		}
	}
	for _, a := range c.Approvals {
		if known := l.approvals[a.ID]; known == nil {
			l.asked = append(l.asked, a.ID)
		} else if known.State != core.ApprovalPending {
			continue
		}
		l.approvals[a.ID] = a
	}
	for _, m := range c.Amend {
		l.messages[m.ID].Content = m.Content
	}
	for _, p := range c.Reorder {
		l.messages[p.ID].Rank = p.Rank
	}
	l.settingsLocked(c.Settings)
	for _, b := range c.Background {
		if slices.ContainsFunc(l.backgrounds, func(known core.Background) bool { return known.ID == b.ID }) {
			continue
		}
		l.backgrounds = append(l.backgrounds, *b)
		l.spent[core.Day(b.CreatedAt)] += b.CostUSD
		use := l.uses[b.SessionID]
		use.TotalCost = max(use.TotalCost, b.TotalCost)
		l.uses[b.SessionID] = use
	}
}

// settingsLocked keeps what a change says of channels.
func (l *fakeLedger) settingsLocked(cs []core.SettingsChange) {
	for i := range cs {
		l.settings[cs[i].Channel] = l.settings[cs[i].Channel].Apply(&cs[i])
	}
}

func (l *fakeLedger) openedLocked(t *core.Turn) {
	if t.Opens {
		use := l.uses[t.SessionID]
		use.Ours = true
		l.uses[t.SessionID] = use
	}
}

// settled reports whether everything the lane may still ask about the turn is
// on the record: then events about it need no replay.
func (l *fakeLedger) settled(id core.TurnID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.turns[id]
	return t == nil || !t.EndedAt.IsZero()
}

// A ledgerOf is the ledger as one process of the gateway sees it.
type ledgerOf struct {
	*fakeLedger
	life *life
}

func (l ledgerOf) Write(c core.Change, done func(error)) { l.write(l.life, c, done) }
