package lanes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/core/settings"
)

// A mover continues channels under other keys; see Manager.Move.
type mover struct {
	ledger   core.Ledger
	sessions core.SessionIDs
	settings *settings.Cache
	tickets  *ticketIndex
	lanes    *registry
	log      *slog.Logger
	now      func() time.Time
	history  *moves
	last     chan struct{} // capacity 1: held during the final phase of a move
}

func (m *mover) move(ctx context.Context, from, to core.ChannelKey) error {
	f, err := m.lanes.pause(from)
	if err != nil {
		return err
	}
	defer f.resume()
	t, err := m.lanes.pause(to)
	if err != nil {
		return err
	}
	defer t.resume()
	endsTo := false
	for {
		if err := errors.Join(f.awaitQuiet(ctx, true), t.awaitQuiet(ctx, endsTo)); err != nil {
			return err
		}
		again, err := m.moveQuiet(ctx, f, t, &endsTo)
		if !again {
			return err
		}
	}
}

// moveQuiet moves the channel while both lanes are quiet, or returns again to have the
// caller wait for quiet lanes once more. After again, *endsTo reports whether the session of
// To must end too.
func (m *mover) moveQuiet(ctx context.Context, f, t *lane, endsTo *bool) (again bool, err error) {
	select {
	case m.last <- struct{}{}:
		defer func() { <-m.last }()
	case <-ctx.Done():
		return false, core.ErrClosed
	}
	if ok, err := f.freezeQueue(ctx, true); !ok {
		return err == nil, err
	}
	defer f.thawQueue()
	if ok, err := t.freezeQueue(ctx, *endsTo); !ok {
		return err == nil, err
	}
	defer t.thawQueue()
	mv := core.Move{From: f.key, To: t.key, At: m.now()}
	if mv.Session, mv.Keeps, err = m.sessionOwner(ctx, f, t); err != nil {
		return false, err
	}
	if !mv.Keeps && !*endsTo {
		*endsTo = true
		if t.gauge.sessions.Load() > 0 {
			return true, nil // no turn, but a process
		}
	}
	items, again, err := m.writeMove(ctx, f, &mv)
	if again || err != nil {
		return again, err
	}
	if err := m.followSession(ctx, mv); err != nil {
		return false, err
	}
	return false, m.handItems(ctx, f, t, mv, items)
}

// sessionOwner returns the session of f, and whether t keeps an own session.
func (m *mover) sessionOwner(ctx context.Context, f, t *lane) (session string, keeps bool, err error) {
	var own string
	read := func(l *lane, id *string) error {
		return l.call(ctx, func() {
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
	use, err := m.ledger.SessionUse(ctx, own)
	return session, use.Ours || use.Completed, err
}

// writeMove makes the move durable, except for the session file, and returns the moved
// messages. The lane's goroutine issues the write: messages accepted before the write are
// moved, and later messages are not.
func (m *mover) writeMove(ctx context.Context, f *lane, mv *core.Move) (moved []*queued, again bool, err error) {
	written := make(chan error, 1)
	note := func(err error) {
		if err == nil {
			m.settings.Transfer(mv.From, mv.To)
			m.history.note(*mv)
		}
		written <- err
	}
	var items []*queued
	settled := false
	err = f.call(ctx, func() {
		if settled = !slices.ContainsFunc(f.pending, (*queued).isUnsettled); settled {
			items = slices.Clone(f.pending)
			m.ledger.Write(core.Change{Move: mv}, note)
		}
	})
	if err != nil || !settled {
		return nil, err == nil, err
	}
	select {
	case err := <-written:
		return items, false, err
	case <-ctx.Done():
		return nil, false, core.ErrClosed // the next process completes a written move
	}
}

// followSession updates the session file for the move, and retries until success or the end
// of the lanes.
func (m *mover) followSession(ctx context.Context, mv core.Move) error {
	for pause := firstSaveRetry; ; pause = min(2*pause, saveRetry) {
		err := m.moveSession(mv)
		if err == nil || errors.Is(err, core.ErrClosed) {
			return err
		}
		m.log.Error("session not moved yet", "channel", string(mv.From), "to", string(mv.To), "err", err, "retry_in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return core.ErrClosed // the next process updates the file
		}
	}
}

// moveSession updates the session file. Without the move's session under the old key,
// moveSession changes nothing, because an earlier call has done the work.
func (m *mover) moveSession(mv core.Move) error {
	switch id, ok := m.sessions.Get(mv.From); {
	case !ok || id != mv.Session:
		return nil
	case mv.Keeps:
		return m.sessions.Forget(mv.From)
	}
	return m.sessions.Move(mv.From, mv.To)
}

// handItems gives the moved messages, and the session, to lane t.
func (m *mover) handItems(ctx context.Context, f, t *lane, mv core.Move, items []*queued) error {
	err := f.call(ctx, func() {
		f.pending = slices.DeleteFunc(f.pending, func(it *queued) bool { return slices.Contains(items, it) })
		f.sessionID, f.unopened, f.exit = "", false, nil
		f.cost.forget()
	})
	if err != nil {
		return err
	}
	return t.call(ctx, func() {
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

// complete completes moves interrupted by the end of an earlier process, oldest first.
func (m *mover) complete(moved []core.Move) error {
	for i, mv := range moved {
		m.history.note(mv)
		if superseded(mv, moved[i+1:]) {
			continue
		}
		if err := m.moveSession(mv); err != nil {
			return fmt.Errorf("complete the move of channel %q to %q: %w", mv.From, mv.To, err)
		}
	}
	return nil
}

// moves holds the latest move of each moved channel.
type moves struct {
	mu sync.Mutex
	of map[core.ChannelKey]core.Move
}

func (ms *moves) note(mv core.Move) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.of == nil {
		ms.of = map[core.ChannelKey]core.Move{}
	}
	ms.of[mv.From] = mv
}

// superseded reports whether a later move has moved the same session again, so the move mv
// is complete. Repeating mv could replace the target's newer session with a session moved
// back to the source.
func superseded(mv core.Move, later []core.Move) bool {
	return slices.ContainsFunc(later, func(other core.Move) bool { return other.Session == mv.Session })
}

// follow returns the present channel of a conversation on the channel key at the time at.
func (ms *moves) follow(key core.ChannelKey, at time.Time) core.ChannelKey {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for range len(ms.of) { // moves may form a circle
		mv, ok := ms.of[key]
		if !ok || mv.At.Before(at) {
			break
		}
		key, at = mv.To, mv.At
	}
	return key
}
