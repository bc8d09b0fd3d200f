package sessionhost

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"bareclaw/core"
	"bareclaw/sessionhost/protocol"
)

const (
	// refillAfter is the pause before a taken spare is replaced: the first turn of its
	// channel has the processor.
	refillAfter = time.Second
	// Pauses between failing starts double from minSparePause to maxSparePause.
	minSparePause = time.Second
	maxSparePause = 5 * time.Minute
	// stableAfter is how long a spare must live for its end not to count as another
	// failure.
	stableAfter = time.Minute
	// reserveTimeout is how long a reserved spare waits for its channel: the message may
	// have been refused, or wait for another session to end.
	reserveTimeout = time.Minute
	// memoryPause is the pause between checks of short memory.
	memoryPause = 10 * time.Second
	// spareMemory is the free memory that a spare needs: the expected use of two sessions.
	spareMemory = 2 * 400 << 20
)

// spares is the one owner of the sessions that wait for a channel. A spare is an
// ordinary host under the channel key of its slot. It is launched and initialised;
// one that is taken or dies is replaced, one at a time.
//
//	start ─► follow ─► ready ─► reserve ─► claim ─► bind ─► a channel's session
//	            │                  │ nobody came      │ cannot be
//	            └─ connection ends ┴──────────────────┴─► ended ─► start
type spares struct {
	h    *Hosts
	want int
	log  *slog.Logger
	ctx  context.Context // ends the goroutines
	stop context.CancelFunc
	wg   sync.WaitGroup
	wake chan struct{} // wakes run

	mu    sync.Mutex // guards the fields below
	all   map[int]*spare
	due   time.Time     // no start before this time
	pause time.Duration // the last pause after a failure
	short bool          // memory was short
}

// A spare is a session that waits for a channel.
type spare struct {
	slot  int
	id    string // session id
	place protocol.Place
	s     *session
	since time.Time
	bound chan struct{} // closed when the spare has a channel
	gone  chan struct{} // closed when the spare is gone, or left to the next daemon

	// Guarded by the mutex of spares.
	ready, claimed, discarded bool
	reserved                  *time.Timer // ends an unclaimed spare; nil before the reservation
}

// spareKey returns the channel key of a slot.
func spareKey(slot int) core.ChannelKey { return core.ChannelKey(protocol.SpareChannel(slot)) }

func newSpares(h *Hosts) *spares {
	ctx, stop := context.WithCancel(context.Background())
	return &spares{
		h: h, want: h.o.Spares, log: h.o.Log, ctx: ctx, stop: stop,
		wake: make(chan struct{}, 1), all: map[int]*spare{},
	}
}

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

// Spares returns how many spares are ready, and how many there should be.
func (p *spares) Spares() (ready, wanted int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sp := range p.all {
		if sp.free() {
			ready++
		}
	}
	return ready, p.want
}

func (sp *spare) free() bool { return sp.ready && sp.reserved == nil && !sp.discarded }

// Reserve returns the session id of a ready spare, false without one. Start with the id
// binds the spare to a channel. A spare without a Start within a minute is ended. The
// promise is on disk first: the next daemon must not give the session to another channel.
func (p *spares) Reserve() (id string, ok bool) {
	sp := p.pick()
	if sp == nil {
		return "", false
	}
	if err := os.WriteFile(sp.place.ReservedPath(), nil, 0o600); err != nil {
		p.log.Error("spare not reserved", "err", err)
		p.discard(sp)
		return "", false
	}
	return sp.id, true
}

func (p *spares) pick() *spare {
	p.mu.Lock()
	defer p.mu.Unlock()
	for slot := 1; slot <= p.want; slot++ {
		if sp := p.all[slot]; sp != nil && sp.free() {
			sp.reserved = time.AfterFunc(reserveTimeout, func() {
				p.log.Info("reserved spare is ended, its channel did not come", "slot", slot)
				p.discard(sp)
			})
			return sp
		}
	}
	return nil
}

// discard ends an unclaimed spare.
func (p *spares) discard(sp *spare) {
	p.mu.Lock()
	sp.discarded = !sp.claimed
	end := sp.discarded
	p.mu.Unlock()
	if end {
		sp.s.Detach() // follow does the rest
	}
}

// claim returns the spare with that session. An ending spare is not usable.
func (p *spares) claim(id string) (sp *spare, usable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sp := range p.all {
		if sp.id == id {
			sp.claimed = true
			if sp.reserved != nil {
				sp.reserved.Stop()
			}
			return sp, !sp.discarded
		}
	}
	return nil, false
}

// run ends the left spares, and then keeps as many spares as are wanted.
func (p *spares) run(left []protocol.Place) {
	for _, at := range left {
		if err := p.endSpare(p.ctx, at); err != nil {
			p.log.Error("spare of an earlier process not ended", "err", err)
		}
	}
	for p.ctx.Err() == nil {
		slot, wait := p.next()
		if slot > 0 && wait <= 0 {
			p.start(slot)
			continue
		}
		var due <-chan time.Time
		if slot > 0 {
			due = time.After(wait)
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
func (p *spares) next() (slot int, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := p.want; i > 0; i-- {
		switch sp := p.all[i]; {
		case sp == nil:
			slot = i
		case !sp.ready:
			return 0, 0
		}
	}
	return slot, time.Until(p.due)
}

// start fills a slot.
func (p *spares) start(slot int) {
	if p.memoryShort() {
		p.postpone(memoryPause)
		return
	}
	s, err := p.startSpare(p.ctx, slot)
	if err != nil {
		if p.ctx.Err() == nil {
			p.log.Warn("spare not started", "slot", slot, "err", err, "retry_in", p.backOff())
		}
		return
	}
	p.add(slot, s)
}

// startSpare launches a session without a channel.
func (p *spares) startSpare(ctx context.Context, slot int) (*session, error) {
	key := spareKey(slot)
	at := p.h.o.place(key)
	b, err := p.h.o.bootstrap(at, core.Launch{SessionID: uuid.NewString()})
	if err != nil {
		return nil, err
	}
	_ = os.Remove(at.ReservedPath()) // of an earlier spare
	s, err := p.h.launch(ctx, key, b, at)
	if err != nil && ctx.Err() == nil {
		_ = p.endSpare(ctx, at) // a host may exist; the next start ends its leftovers
	}
	return s, err
}

// add adds a running spare.
func (p *spares) add(slot int, s *session) {
	sp := &spare{
		slot: slot, id: s.info.SessionID, place: p.h.o.place(spareKey(slot)), s: s, since: time.Now(),
		bound: make(chan struct{}), gone: make(chan struct{}), ready: s.info.Ready,
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		s.Detach()
		return
	}
	p.all[slot] = sp
	p.wg.Go(func() { p.follow(sp) }) // ends with the connection, or when the spare has a channel
}

// memoryShort reports whether memory is short, and logs changes.
func (p *spares) memoryShort() bool {
	if p.h.o.MemoryFree == nil {
		return false
	}
	free := p.h.o.MemoryFree()
	short := free > 0 && free < spareMemory
	p.mu.Lock()
	changed := short != p.short
	p.short = short
	p.mu.Unlock()
	if changed {
		p.log.Info("memory for spares", "short", short, "free_mib", free>>20)
	}
	return short
}
