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
	"bareclaw/sessionhost/protocol"
)

// bindTimeout is how long a spare may take to report its new channel.
const bindTimeout = 5 * time.Second

// follow listens to a spare until the spare has a channel. After the end of the connection
// the spare is ended and replaced.
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
	if err := p.endSpare(p.ctx, sp.place); err != nil {
		p.log.Error("spare not ended", "slot", sp.slot, "err", err)
	}
	p.onLost(sp, why)
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
			p.readied(sp)
		}
	}
}

func (p *spares) readied(sp *spare) {
	p.log.Info("spare ready", "slot", sp.slot, "host_pid", sp.s.info.HostPID)
	p.mu.Lock()
	sp.ready = true
	p.mu.Unlock()
	p.wakeUp()
}

// onLost has the spare replaced, after a pause if the spare ended by itself.
func (p *spares) onLost(sp *spare, why error) {
	p.mu.Lock()
	delete(p.all, sp.slot)
	meant := sp.discarded || sp.claimed // already logged
	if time.Since(sp.since) > stableAfter {
		p.pause = 0
	}
	p.mu.Unlock()
	if meant {
		p.postpone(refillAfter)
		return
	}
	p.log.Warn("spare lost", "slot", sp.slot, "err", why, "retry_in", p.backOff())
}

// backOff makes the next start wait longer than the last.
func (p *spares) backOff() time.Duration {
	p.mu.Lock()
	p.pause = min(max(2*p.pause, minSparePause), maxSparePause)
	pause := p.pause
	p.mu.Unlock()
	p.postpone(pause)
	return pause
}

// postpone lets no spare be started for so long.
func (p *spares) postpone(d time.Duration) {
	p.mu.Lock()
	if due := time.Now().Add(d); due.After(p.due) {
		p.due = due
	}
	p.mu.Unlock()
	p.wakeUp()
}

func (p *spares) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default: // a wake-up is pending
	}
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
		p.log.Warn("spare not bound, a session host is started instead", "channel", string(key), "slot", sp.slot, "err", err)
		sp.s.Detach()
		select {
		case <-sp.gone:
		case <-sp.bound: // too late: the spare is in the channel's place, and the new host ends it
			p.removeBound(sp)
		}
		return nil
	}
	p.removeBound(sp)
	sp.s.info.Ready, sp.s.info.Stale = true, p.h.o.outdated(sp.s.launchID)
	sp.s.tr.log = p.log.With("channel", string(key))
	go sp.s.read() // ends with the connection
	return sp.s
}

// removeBound forgets a spare that has moved to a channel's place.
func (p *spares) removeBound(sp *spare) {
	p.mu.Lock()
	delete(p.all, sp.slot)
	p.pause = 0
	p.mu.Unlock()
	p.postpone(refillAfter)
}

// bindSpare moves the spare to the channel's place and takes over the lock.
func (p *spares) bindSpare(ctx context.Context, key core.ChannelKey, sp *spare) error {
	at := p.h.o.place(key)
	lock, err := p.h.acquireLock(ctx, at)
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
		_ = os.Remove(sp.place.ReservedPath())
		return nil
	case <-sp.gone:
		return errors.New("it has ended")
	case <-late.C:
		return fmt.Errorf("it did not answer within %s", bindTimeout)
	}
}

// endSpare kills the spare at a place: a spare has nothing to lose, and must not obey a
// frame on its way.
func (p *spares) endSpare(ctx context.Context, at protocol.Place) error {
	r, err := protocol.ReadRecord(at.RecordPath)
	if err != nil && !protocol.IsNotExist(err) {
		return err
	}
	if err == nil && r.HostAlive() {
		_ = proc.Signal(r.PID, r.Start, syscall.SIGKILL) // the spare may have ended
		killed, cancel := context.WithTimeout(ctx, protocol.KillGrace)
		err = proc.WaitGone(killed, r.PID, r.Start)
		cancel()
		if err != nil {
			return fmt.Errorf("end spare %d: %w", r.PID, err)
		}
	}
	lock, err := p.h.acquireLock(ctx, at) // a new spare may not have written its record
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	_ = os.Remove(at.Socket) // a leftover socket does no harm
	_ = os.Remove(at.ReservedPath())
	return nil
}
