package sessionhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/internal/procmark"
	"bareclaw/sessionhost/protocol"
)

// bindTimeout is how long a spare may take to report its new channel.
const bindTimeout = 5 * time.Second

// A spare is a session that waits for a channel.
type spare struct {
	slot  int
	s     *session
	since time.Time
	bound chan struct{} // closed when the spare has a channel
	gone  chan struct{} // closed when the spare is gone, or left to the next daemon

	// Guarded by the mutex of spares.
	ready, claimed, discarded bool
	reserved                  *time.Timer // ends an unclaimed spare; nil before the reservation
}

func (sp *spare) free() bool { return sp.ready && sp.reserved == nil && !sp.discarded }

// follow listens to a spare until the spare has a channel. After the end of the connection
// the spare is ended and replaced, after a pause if it ended by itself.
func (p *spares) follow(sp *spare) {
	why := p.listen(sp)
	if why == nil {
		close(sp.bound)
		return
	}
	defer close(sp.gone)
	sp.s.Detach()
	if p.ctx.Err() != nil {
		return // the next daemon takes the spare over
	}
	if err := p.end(p.ctx, sp.slot); err != nil {
		p.o.Log.Error("spare not ended", "slot", sp.slot, "err", err)
	}
	p.mu.Lock()
	meant := sp.discarded || sp.claimed // already logged
	p.mu.Unlock()
	if pause := p.drop(sp, !meant); !meant {
		p.o.Log.Warn("spare lost", "slot", sp.slot, "err", why, "retry_in", pause)
	}
}

// listen returns nil when the spare is bound, or the reason of its end. Its other events
// concern no channel.
func (p *spares) listen(sp *spare) error {
	for {
		line, err := sp.s.frames.Next()
		if err != nil {
			return err
		}
		entry, err := protocol.DecodeEntry(line.Bytes)
		if err != nil {
			return err
		}
		sp.s.Ack(entry.Seq)
		switch {
		case entry.Exit != nil:
			return errors.New(entry.Exit.Core().Text)
		case entry.Bound != "":
			return nil
		case entry.Ready:
			p.o.Log.Info("spare ready", "slot", sp.slot, "host_pid", sp.s.info.HostPID)
			sp.s.tr.program.ready(entry.Claude)
			p.mu.Lock()
			sp.ready, sp.s.info.Version = true, entry.Claude
			p.mu.Unlock()
			p.postpone(0)
		}
	}
}

// claim returns the spare with that session. An ending spare is not usable.
func (p *spares) claim(id string) (sp *spare, usable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sp := range p.all {
		if sp.s.info.SessionID == id {
			sp.claimed = true
			if sp.reserved != nil {
				sp.reserved.Stop()
			}
			return sp, !sp.discarded
		}
	}
	return nil, false
}

// bind gives the channel the spare with that session. It returns nil without such a spare,
// or when the spare is lost: then no process of the session is left.
func (p *spares) bind(ctx context.Context, key core.ChannelKey, l core.Launch) *session {
	sp, usable := p.claim(l.SessionID)
	if sp == nil {
		return nil
	}
	err := errors.New("it is being ended, its session is to be resumed, or its channel has settings of its own")
	if usable && !l.Resume && l.Settings.Fingerprint() == "" {
		err = p.bindSpare(ctx, key, sp)
	}
	if err != nil {
		p.o.Log.Warn("spare not bound, a session host is started instead", "channel", string(key), "slot", sp.slot, "err", err)
		sp.s.Detach()
		select {
		case <-sp.gone:
		case <-sp.bound: // too late: the spare is in the channel's place, and the new host ends it
			p.drop(sp, false)
		}
		return nil
	}
	p.drop(sp, false)
	sp.s.info.Ready, sp.s.info.Stale = true, p.o.outdated(sp.s.launchID)
	sp.s.tr.log = p.o.Log.With("channel", string(key))
	go p.readSession(sp.s) // ends with the connection
	return sp.s
}

func (p *spares) bindSpare(ctx context.Context, key core.ChannelKey, sp *spare) error {
	at := p.o.place(key)
	lock, err := acquireLock(ctx, at)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the spare's own lock has replaced the file
	to, err := json.Marshal(at)
	if err != nil {
		return fmt.Errorf("encode place of channel %s: %w", key, err)
	}
	if err := sp.s.send(protocol.Frame{Type: protocol.FrameBind}, to); err != nil {
		return err
	}
	late := time.NewTimer(bindTimeout)
	defer late.Stop()
	select {
	case <-sp.bound:
		_ = os.Remove(p.placeOf(sp.slot).ReservedPath())
		return nil
	case <-sp.gone:
		return errors.New("it has ended")
	case <-late.C:
		return fmt.Errorf("it did not answer within %s", bindTimeout)
	}
}

// end kills the spare in a slot: a spare has nothing to lose, and must not obey a frame on
// its way.
func (p *spares) end(ctx context.Context, slot int) error {
	at := p.placeOf(slot)
	r, err := protocol.ReadRecord(at.RecordPath)
	if err != nil && !protocol.IsNotExist(err) {
		return err
	}
	if err == nil && r.HostAlive() {
		_ = proc.Signal(r.PID, r.Start, syscall.SIGKILL) // the spare may have ended
		killed, cancel := context.WithTimeout(ctx, procmark.KillGrace)
		defer cancel()
		if err := proc.WaitGone(killed, r.PID, r.Start); err != nil {
			return fmt.Errorf("end spare %d: %w", r.PID, err)
		}
	}
	lock, err := acquireLock(ctx, at) // a new spare may not have written its record
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	_ = os.Remove(at.Socket) // a leftover socket does no harm
	_ = os.Remove(at.ReservedPath())
	return nil
}
