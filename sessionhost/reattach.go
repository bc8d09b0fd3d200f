package sessionhost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bareclaw/core"
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
	var all sync.WaitGroup
	leave := func(at protocol.Place) {
		mu.Lock()
		defer mu.Unlock()
		left = append(left, at)
	}
	for _, r := range records {
		slot, ok := protocol.SpareSlot(r.Channel)
		if !ok {
			continue
		}
		at := p.h.place(core.ChannelKey(r.Channel))
		if _, promised := os.Stat(at.ReservedPath()); promised == nil {
			if err := p.h.endSpare(ctx, at); err != nil {
				p.log.Error("spare that was promised to a channel not ended", "slot", slot, "err", err)
				leave(at)
			}
			continue
		}
		all.Go(func() { // ends within adoptTimeout
			if slot < 1 || slot > p.want || !r.HostAlive() || !p.reattachOne(ctx, slot, r) {
				leave(at)
			}
		})
	}
	all.Wait()
	p.h.removeReservations()
	return left, nil
}

// reattachOne reports whether the spare answers and was launched as spares are now.
func (p *spares) reattachOne(ctx context.Context, slot int, r protocol.Record) bool {
	ctx, cancel := context.WithTimeout(ctx, reattachTimeout)
	defer cancel()
	s, err := p.h.connect(ctx, spareKey(slot), r.Socket, r.PID)
	if err != nil {
		p.log.Warn("spare not taken over", "slot", slot, "err", err)
		return false
	}
	if p.h.outdated(s.launchID) {
		p.log.Info("spare is replaced, it was started with other settings", "slot", slot)
		s.Detach()
		return false
	}
	p.log.Info("spare taken over", "slot", slot, "host_pid", r.PID)
	p.add(slot, s)
	return true
}

// removeReservations removes the files of kept promises.
func (h *Hosts) removeReservations() {
	files, _ := filepath.Glob(filepath.Join(escapeGlob(h.o.StateDir), "hosts", "*.reserved")) // the pattern is well-formed
	for _, file := range files {
		_ = os.Remove(file)
	}
}

// EndSpares ends all spares for good, and returns when they are gone, or when ctx ends.
func (h *Hosts) EndSpares(ctx context.Context) error {
	h.LeaveSpares()
	records, err := h.records()
	if err != nil {
		return err
	}
	slots := map[int]struct{}{}
	for _, r := range records {
		if slot, ok := protocol.SpareSlot(r.Channel); ok {
			slots[slot] = struct{}{}
		}
	}
	for slot := range h.o.Spares {
		slots[slot+1] = struct{}{} // also spares without a record
	}
	ended := make(chan error, len(slots))
	for slot := range slots {
		go func() { ended <- h.endSpare(ctx, h.place(spareKey(slot))) }() // ends with ctx
	}
	errs := make([]error, 0, len(slots))
	for range slots {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}
