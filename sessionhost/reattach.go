package sessionhost

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"bareclaw/sessionhost/protocol"
)

// reattachTimeout is how long a spare of an earlier daemon may take to answer.
const reattachTimeout = 2 * time.Second

// reattach takes over the spares of an earlier daemon, and returns the places of the spares
// to be ended. A spare that was promised to a channel is ended before reattach returns: the
// channel's first turn may be on record with its session, and will start the session again.
// After reattach no spare obeys the earlier daemon.
func (p *spares) reattach(ctx context.Context) (left []protocol.Place, err error) {
	records, err := p.h.records()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex // guards left
	_ = inParallel(records, func(r recordFile) error {
		slot, ok := protocol.SpareSlot(r.Channel)
		if ok && !p.reattachOne(ctx, slot, r.Record) {
			mu.Lock()
			defer mu.Unlock()
			left = append(left, p.h.o.place(spareKey(slot)))
		}
		return nil
	})
	kept, _ := globIn(filepath.Join(p.h.o.StateDir, "hosts"), "*.reserved") // the pattern is well-formed
	for _, file := range kept {
		_ = os.Remove(file)
	}
	return left, nil
}

// reattachOne reports whether nothing is left to be done: the spare was promised and is ended
// now, or it answers and was launched as spares are now.
func (p *spares) reattachOne(ctx context.Context, slot int, r protocol.Record) bool {
	at := p.h.o.place(spareKey(slot))
	if isThere(at.ReservedPath()) {
		err := p.endSpare(ctx, at)
		if err != nil {
			p.log.Error("spare that was promised to a channel not ended", "slot", slot, "err", err)
		}
		return err == nil
	}
	if slot < 1 || slot > p.want || !r.HostAlive() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, reattachTimeout)
	defer cancel()
	s, err := p.h.connect(ctx, spareKey(slot), r.Socket, r.PID)
	if err != nil {
		p.log.Warn("spare not taken over", "slot", slot, "err", err)
		return false
	}
	if p.h.o.outdated(s.launchID) {
		p.log.Info("spare is replaced, it was started with other settings", "slot", slot)
		s.Detach()
		return false
	}
	p.log.Info("spare taken over", "slot", slot, "host_pid", r.PID)
	p.add(slot, s)
	return true
}

// EndSpares ends all spares for good, and returns when they are gone, or when ctx ends.
func (p *spares) EndSpares(ctx context.Context) error {
	p.LeaveSpares()
	records, err := p.h.records()
	if err != nil {
		return err
	}
	slots := map[int]struct{}{}
	for _, r := range records {
		if slot, ok := protocol.SpareSlot(r.Channel); ok {
			slots[slot] = struct{}{}
		}
	}
	for slot := range p.want {
		slots[slot+1] = struct{}{} // also spares without a record
	}
	return inParallel(slices.Collect(maps.Keys(slots)), func(slot int) error { return p.endSpare(ctx, p.h.o.place(spareKey(slot))) })
}
