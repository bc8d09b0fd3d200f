package lanes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bareclaw/core"
)

// Move continues a channel under another key, for example when a chat service gives a chat a
// new id. Move transfers waiting messages (ahead of messages waiting on To), the session,
// settings (unless To has own settings), rules and pending approvals. Messages with an
// outcome stay on From, and a retry of such a message runs on To. A running turn ends first,
// on From, and neither channel begins a turn before the move is complete. Background tasks
// of From end with the process. If both channels have had turns, To keeps the conversation
// of To.
//
// A repeated Move changes nothing, and the next process completes a move interrupted by a
// crash. Move blocks until complete, as long as the running turns take, and the move
// continues after ctx ends. Errors: storage errors, ErrClosed.
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

// moveStill moves the channel while both lanes are quiet, or returns again to have the
// caller wait for quiet lanes once more. After again, *endsTo reports whether the session of
// To must end too.
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
			return true, nil // no turn, but a process
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

// sessionOwner returns the session of f, and whether t keeps an own session.
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

// writeMove makes the move durable, except for the session file, and returns the moved
// messages. The lane's goroutine issues the write: messages accepted before the write are
// moved, and later messages are not.
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
		return nil, false, core.ErrClosed // the next process completes a written move
	}
}

// followSession updates the session file for the move, and retries until success or the end
// of the lanes.
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
			return core.ErrClosed // the next process updates the file
		}
	}
}

// moveSession updates the session file. Without the move's session under the old key,
// moveSession changes nothing, because an earlier call has done the work.
func (m *Manager) moveSession(mv core.Move) error {
	switch id, ok := m.o.Sessions.Get(mv.From); {
	case !ok || id != mv.Session:
		return nil
	case mv.Keeps:
		return m.o.Sessions.Forget(mv.From)
	}
	return m.o.Sessions.Move(mv.From, mv.To)
}

// handItems gives the moved messages, and the session, to lane t.
func (m *Manager) handItems(f, t *lane, mv core.Move, items []*queued) error {
	err := f.call(m.ctx, func() {
		f.pending = slices.DeleteFunc(f.pending, func(it *queued) bool { return slices.Contains(items, it) })
		f.sessionID, f.unopened, f.exit = "", false, nil
		f.costOf = "" // the session may come back with a higher total
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
		shift := t.lowestRank() - last - 1 // the same ranks as in the ledger
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
