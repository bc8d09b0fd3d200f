package lanes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bareclaw/core"
)

// Move has a channel go on under another key, as when a chat service gives a chat a
// new id. What waits goes there, before what waits there already, and so do session,
// settings (where To has none of its own), rules and pending approvals; messages with
// an outcome stay where they are, and are retried on the new channel. A turn that runs
// ends first, on the old one, and neither channel begins another one before that is done; background tasks
// of the old one end with their process. If both channels have had turns, To keeps its
// conversation. To move again what has been moved changes nothing, and what a
// crash has cut is completed by the next process. It returns when it is done, which
// takes as long as the turns that run; it goes on when ctx ends. Errors: those of the
// storage, ErrClosed.
func (m *Manager) Move(ctx context.Context, from, to core.ChannelKey) error {
	if from == to {
		return nil
	}
	done := make(chan error, 1)
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return core.ErrClosed
	}
	m.wg.Go(func() { done <- m.move(from, to) }) // ends with the lanes
	m.mu.Unlock()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("move channel %q to %q: %w", from, to, err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Manager) move(from, to core.ChannelKey) error {
	f, err := m.pause(from)
	if err != nil {
		return err
	}
	defer f.resume()
	t, err := m.pause(to)
	if err != nil {
		return err
	}
	defer t.resume()
	endsTo := false
	for {
		if err := errors.Join(f.awaitQuiet(m.ctx, true), t.awaitQuiet(m.ctx, endsTo)); err != nil {
			return err
		}
		again, err := m.moveStill(f, t, &endsTo)
		if !again {
			return err
		}
	}
}

// moveStill moves one channel to the other while nothing happens on either, or says that
// this has to be waited for again; endsTo then says whether the session of To has to
// end too.
func (m *Manager) moveStill(f, t *lane, endsTo *bool) (again bool, err error) {
	select {
	case m.moveOne <- struct{}{}:
		defer func() { <-m.moveOne }()
	case <-m.ctx.Done():
		return false, core.ErrClosed
	}
	if ok, err := f.freezeQueue(m.ctx, true); !ok {
		return err == nil, err
	}
	defer f.thawQueue()
	if ok, err := t.freezeQueue(m.ctx, *endsTo); !ok {
		return err == nil, err
	}
	defer t.thawQueue()
	mv := core.Move{From: f.key, To: t.key, At: m.o.Now()}
	if mv.Session, mv.Keeps, err = m.sessionOwner(f, t); err != nil {
		return false, err
	}
	if !mv.Keeps && !*endsTo {
		*endsTo = true
		if t.gauge.sessions.Load() > 0 {
			return true, nil // it has had no turn, but a process
		}
	}
	items, again, err := m.writeMove(f, &mv)
	if again || err != nil {
		return again, err
	}
	if err := m.followSession(mv); err != nil {
		return false, err
	}
	return false, m.handItems(f, t, mv, items)
}

// whose returns the session of the one lane, and whether the other keeps its own.
func (m *Manager) sessionOwner(f, t *lane) (session string, keeps bool, err error) {
	var own string
	read := func(l *lane, id *string) error {
		return l.call(m.ctx, func() {
			if !l.unopened {
				*id = l.sessionID
			}
		})
	}
	if err := errors.Join(read(f, &session), read(t, &own)); err != nil {
		return "", false, err
	}
	if own == "" || session == "" {
		return session, own != "", nil
	}
	use, err := m.o.Ledger.SessionUse(m.ctx, own)
	return session, use.Ours || use.Completed, err
}

// writeMove makes the move durable, but for the session, and returns what is moved. It
// is written on the lane's goroutine: what is accepted there before it is moved
// with it, and what is accepted later is not.
func (m *Manager) writeMove(f *lane, mv *core.Move) (moved []*queued, again bool, err error) {
	written := make(chan error, 1)
	note := func(err error) {
		if err == nil {
			m.settings.move(mv.From, mv.To)
			m.moves.note(*mv)
		}
		written <- err
	}
	var items []*queued
	settled := false
	err = f.call(m.ctx, func() {
		if settled = !slices.ContainsFunc(f.pending, (*queued).isUnsettled); settled {
			items = slices.Clone(f.pending)
			m.o.Ledger.Write(core.Change{Move: mv}, note)
		}
	})
	if err != nil || !settled {
		return nil, err == nil, err
	}
	select {
	case err := <-written:
		return items, false, err
	case <-m.ctx.Done():
		return nil, false, core.ErrClosed // if it is written, the next process completes it
	}
}

// followSession has the session file say what the move says, again and again until it
// does.
func (m *Manager) followSession(mv core.Move) error {
	for pause := firstSaveRetry; ; pause = min(2*pause, saveRetry) {
		err := m.moveSession(mv)
		if err == nil || errors.Is(err, core.ErrClosed) {
			return err
		}
		m.o.Log.Error("session not moved yet", "channel", string(mv.From), "to", string(mv.To), "err", err, "retry_in", pause)
		select {
		case <-time.After(pause):
		case <-m.ctx.Done():
			return core.ErrClosed // the next process does it
		}
	}
}

// moveSession changes nothing if that is done: then the old key has no session, or
// another one.
func (m *Manager) moveSession(mv core.Move) error {
	switch id, ok := m.o.Sessions.Get(mv.From); {
	case !ok || id != mv.Session:
		return nil
	case mv.Keeps:
		return m.o.Sessions.Forget(mv.From)
	}
	return m.o.Sessions.Move(mv.From, mv.To)
}

// handItems gives what waited, and the session, to the other lane.
func (m *Manager) handItems(f, t *lane, mv core.Move, items []*queued) error {
	err := f.call(m.ctx, func() {
		f.pending = slices.DeleteFunc(f.pending, func(it *queued) bool { return slices.Contains(items, it) })
		f.sessionID, f.unopened, f.exit = "", false, nil
		f.costOf = "" // it may come back, and have cost more
	})
	if err != nil {
		return err
	}
	return t.call(m.ctx, func() {
		last := 0
		for i, it := range items {
			if i == 0 || it.msg.Rank > last {
				last = it.msg.Rank
			}
		}
		shift := t.lowestRank() - last - 1 // as the ledger does
		for _, it := range items {
			it.msg.Channel = mv.To
			it.msg.Rank += shift
			m.tickets.rekey(it.msg.ID, mv.To)
		}
		t.pending = append(items, t.pending...)
		t.sortPending()
		if mv.Session != "" && !mv.Keeps {
			t.sessionID, t.unopened, t.exit = mv.Session, false, nil
		}
		t.log.Info("channel moved here", "from", string(mv.From), "waiting", len(items), "session", t.sessionID)
	})
}
