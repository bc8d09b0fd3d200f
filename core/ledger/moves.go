package ledger

import (
	"context"
	"database/sql/driver"

	"bareclaw/core"
)

func (k *compiler) move(m *core.Move) {
	from, to := string(m.From), string(m.To)
	for _, stmt := range []stmtID{opMoveMessages, opMoveApprovals, opMoveSettings, opMoveRules, opMoveJobs} {
		k.add(op{stmt: stmt, id: from, args: []driver.Value{from, to}}, 0)
	}
	for _, stmt := range []stmtID{opDropSettings, opDropRules} { // delete the rest: the target already has an equivalent
		k.add(op{stmt: stmt, id: from, args: []driver.Value{from}}, 0)
	}
	k.add(op{stmt: opMoved, id: from, args: []driver.Value{from, to, m.Session, flag(m.Keeps), nanos(m.At)}}, 0)
}

// Moves implements [core.Ledger].
func (l *Ledger) Moves(ctx context.Context) ([]core.Move, error) {
	if err := l.settled(ctx); err != nil {
		return nil, err
	}
	ms, err := list(ctx, l.readers, func(scan func(...any) error) (core.Move, error) {
		var m core.Move
		var at int64
		err := scan(&m.From, &m.To, &m.Session, &m.Keeps, &at)
		m.At = fromNanos(at)
		return m, err
	}, `SELECT channel, target, session, keeps, moved_at FROM moves ORDER BY moved_at`)
	return ms, l.reading(err, "which channels were moved")
}
