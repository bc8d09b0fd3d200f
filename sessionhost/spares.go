package sessionhost

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"bareclaw/core"
	"bareclaw/internal/wait"
	"bareclaw/sessionhost/protocol"
)

const (
	// refillAfter is the pause before a taken spare is replaced: the first turn of its
	// channel has the processor.
	refillAfter = time.Second
	// minSparePause and maxSparePause bound the pause before the next start after a spare has failed.
	minSparePause = time.Second
	maxSparePause = 5 * time.Minute
	// stableAfter is how long a spare must live for earlier failures to be forgotten.
	stableAfter = time.Minute
	// reserveTimeout is how long a reserved spare waits for its channel: the message may
	// have been refused, or wait for another session to end.
	reserveTimeout = time.Minute
	// reattachTimeout is how long a spare of an earlier daemon may take to answer.
	reattachTimeout = 2 * time.Second
	// memoryPause is the pause between checks of short memory.
	memoryPause = 10 * time.Second
	// spareMemory is the free memory that a spare needs: the expected use of two sessions.
	spareMemory = 2 * 400 << 20
)

// spares owns the sessions that wait for a channel. A spare is an ordinary host under the
// channel key of its slot, with an initialised claude. spares replaces each spare that a
// channel takes or that dies, one at a time.
//
//	start ─► follow ─► ready ─► reserve ─► claim ─► bind ─► a channel's session
//	            │                  │ nobody came      │ cannot be
//	            └─ connection ends ┴──────────────────┴─► ended ─► start
type spares struct {
	*hostKeeper
	ctx  context.Context // ends the goroutines
	stop context.CancelFunc
	wg   sync.WaitGroup
	wake wait.Signal // wakes run

	mu       sync.Mutex // guards the fields below
	all      map[int]*spare
	due      time.Time // no start before this time
	failures wait.Backoff
	short    bool // memory was short
}

func newSpares(k *hostKeeper) *spares {
	ctx, stop := context.WithCancel(context.Background())
	return &spares{
		hostKeeper: k,
		ctx:        ctx,
		stop:       stop,
		wake:       wait.NewSignal(),
		all:        map[int]*spare{},
		failures:   wait.Backoff{First: minSparePause, Most: maxSparePause, Steady: stableAfter},
	}
}

func spareKey(slot int) core.ChannelKey { return core.ChannelKey(protocol.SpareChannel(slot)) }

func (p *spares) placeOf(slot int) protocol.Place { return p.o.place(spareKey(slot)) }

// KeepSpares takes over the spares of an earlier daemon, and keeps the wanted number until
// LeaveSpares. It must be called before any channel is served, because it ends spares that
// the earlier daemon had promised.
func (p *spares) KeepSpares(ctx context.Context) error {
	left, err := p.reattach(ctx)
	if err != nil {
		return err
	}
	p.wg.Go(func() { p.run(left) })
	return nil
}

// LeaveSpares leaves the spares to the next daemon. No channel may be served any more.
func (p *spares) LeaveSpares() {
	p.mu.Lock()
	p.stop() // none is added any more
	all := slices.Collect(maps.Values(p.all))
	p.mu.Unlock()
	for _, sp := range all {
		sp.s.Detach()
	}
	p.wg.Wait()
}

// EndSpares ends all spares for good, and returns when they are gone, or when ctx ends.
func (p *spares) EndSpares(ctx context.Context) error {
	p.LeaveSpares()
	records, err := p.records()
	if err != nil {
		return err
	}
	slots := map[int]struct{}{}
	for _, r := range records {
		if slot, ok := protocol.SpareSlot(r.Channel); ok {
			slots[slot] = struct{}{}
		}
	}
	for slot := range p.o.Spares {
		slots[slot+1] = struct{}{} // also spares without a record
	}
	return inParallel(slices.Collect(maps.Keys(slots)), func(slot int) error { return p.end(ctx, slot) })
}

// Spares returns how many spares are ready, and how many there should be.
func (p *spares) Spares() (ready, wanted int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sp := range p.all {
		if sp.free() {
			ready++
		}
	}
	return ready, p.o.Spares
}

// Reserve returns the session id of a ready spare, false without one. Start with the id
// binds the spare to a channel. A spare without a Start within a minute is ended. The
// promise is on disk first: the next daemon must not give the session to another channel.
func (p *spares) Reserve() (id string, ok bool) {
	sp := p.pick()
	if sp == nil {
		return "", false
	}
	if err := os.WriteFile(p.placeOf(sp.slot).ReservedPath(), nil, 0o600); err != nil {
		p.o.Log.Error("spare not reserved", "err", err)
		p.discard(sp)
		return "", false
	}
	return sp.s.info.SessionID, true
}

func (p *spares) pick() *spare {
	p.mu.Lock()
	defer p.mu.Unlock()
	for slot := 1; slot <= p.o.Spares; slot++ {
		if sp := p.all[slot]; sp != nil && sp.free() {
			sp.reserved = time.AfterFunc(reserveTimeout, func() {
				p.o.Log.Info("reserved spare is ended, its channel did not come", "slot", slot)
				p.discard(sp)
			})
			return sp
		}
	}
	return nil
}

func (p *spares) discard(sp *spare) {
	p.mu.Lock()
	sp.discarded = !sp.claimed
	end := sp.discarded
	p.mu.Unlock()
	if end {
		sp.s.Detach() // follow does the rest
	}
}

// reattach takes over the spares of an earlier daemon, and returns the slots of the spares
// to be ended. A spare that was promised to a channel is ended before reattach returns: the
// channel's first turn may be on record with its session, and will start the session again.
// After reattach no spare obeys the earlier daemon.
func (p *spares) reattach(ctx context.Context) (left []int, err error) {
	records, err := p.records()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex // guards left
	_ = inParallel(records, func(r recordFile) error {
		slot, ok := protocol.SpareSlot(r.Channel)
		if ok && !p.reattachOne(ctx, slot, r.Record) {
			mu.Lock()
			defer mu.Unlock()
			left = append(left, slot)
		}
		return nil
	})
	kept, _ := globIn(filepath.Join(p.o.StateDir, "hosts"), "*.reserved") // the pattern is well-formed
	for _, file := range kept {
		_ = os.Remove(file)
	}
	return left, nil
}

// reattachOne reports whether nothing is left to be done: the spare was promised and is ended
// now, or it answers and was launched as spares are now.
func (p *spares) reattachOne(ctx context.Context, slot int, r protocol.Record) bool {
	log := p.o.Log.With("slot", slot, "host_pid", r.PID)
	if isThere(p.placeOf(slot).ReservedPath()) {
		err := p.end(ctx, slot)
		if err != nil {
			log.Error("spare that was promised to a channel not ended", "err", err)
		}
		return err == nil
	}
	if slot < 1 || slot > p.o.Spares || !r.HostAlive() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, reattachTimeout)
	defer cancel()
	s, err := p.connect(ctx, spareKey(slot), r.Socket, r.PID)
	if err != nil {
		log.Warn("spare not taken over", "err", err)
		return false
	}
	if p.o.outdated(s.launchID) {
		log.Info("spare is replaced, it was started with other settings")
		s.Detach()
		return false
	}
	log.Info("spare taken over")
	p.add(slot, s)
	return true
}

func (p *spares) run(left []int) {
	for _, slot := range left {
		if err := p.end(p.ctx, slot); err != nil {
			p.o.Log.Error("spare of an earlier process not ended", "err", err)
		}
	}
	for p.ctx.Err() == nil {
		slot, pause := p.next()
		if slot > 0 && pause <= 0 {
			p.start(slot)
			continue
		}
		var due <-chan time.Time
		if slot > 0 {
			due = time.After(pause)
		}
		select {
		case <-p.ctx.Done():
		case <-p.wake:
		case <-due:
		}
	}
}

// next returns the slot to fill and the time until then; 0 when all slots are full, or a
// start is under way.
func (p *spares) next() (slot int, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := p.o.Spares; i > 0; i-- {
		switch sp := p.all[i]; {
		case sp == nil:
			slot = i
		case !sp.ready:
			return 0, 0
		}
	}
	return slot, time.Until(p.due)
}

func (p *spares) start(slot int) {
	if p.memoryShort() {
		p.postpone(memoryPause)
		return
	}
	at := p.placeOf(slot)
	b, err := p.o.bootstrap(at, core.Launch{SessionID: uuid.NewString()})
	if err == nil {
		_ = os.Remove(at.ReservedPath()) // of an earlier spare
		var s *session
		if s, err = p.launch(p.ctx, spareKey(slot), b, at); err == nil {
			p.add(slot, s)
			return
		}
	}
	if p.ctx.Err() == nil {
		p.o.Log.Warn("spare not started", "slot", slot, "err", errors.Join(err, p.end(p.ctx, slot)), "retry_in", p.backOff(0))
	}
}

func (p *spares) add(slot int, s *session) {
	sp := &spare{slot: slot, s: s, since: time.Now(), bound: make(chan struct{}), gone: make(chan struct{}), ready: s.info.Ready}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		s.Detach()
		return
	}
	p.all[slot] = sp
	p.wg.Go(func() { p.follow(sp) }) // ends with the connection, or when the spare has a channel
}

// drop forgets a spare that has ended or is bound. It returns the pause before the next
// start: a longer one each time if the spare has failed.
func (p *spares) drop(sp *spare, failed bool) time.Duration {
	p.mu.Lock()
	delete(p.all, sp.slot)
	if !failed {
		p.failures.Reset()
	}
	p.mu.Unlock()
	if failed {
		return p.backOff(time.Since(sp.since))
	}
	p.postpone(refillAfter)
	return refillAfter
}

// backOff postpones the next start after the failure of a spare that lived for a duration, and
// returns the pause.
func (p *spares) backOff(lived time.Duration) time.Duration {
	p.mu.Lock()
	pause := p.failures.NextAfter(lived)
	p.mu.Unlock()
	p.postpone(pause)
	return pause
}

// postpone delays the next start of a spare by at least d, and wakes run.
func (p *spares) postpone(d time.Duration) {
	p.mu.Lock()
	if due := time.Now().Add(d); due.After(p.due) {
		p.due = due
	}
	p.mu.Unlock()
	p.wake.Send()
}

func (p *spares) memoryShort() bool {
	if p.o.MemoryFree == nil {
		return false
	}
	free := p.o.MemoryFree()
	short := free > 0 && free < spareMemory
	p.mu.Lock()
	changed := short != p.short
	p.short = short
	p.mu.Unlock()
	if changed {
		p.o.Log.Info("memory for spares", "short", short, "free_mib", free>>20)
	}
	return short
}
