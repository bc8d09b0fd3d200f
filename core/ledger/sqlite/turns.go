package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"bareclaw/core"
)

var (
	stmtTurn   = newStatement("begin turn", `INSERT INTO turns(id, session, begun_at, doc, line) VALUES(?,?,?,?,?)`)
	stmtUpdate = newStatement("update turn", `UPDATE turns SET session=?, doc=? WHERE id=? AND ended_at=0`).orElse(knownTurn)
	stmtEnd    = newStatement("end turn", `UPDATE turns SET ended_at=?, session=coalesce(nullif(?,''),session), ending=?, result=?
		WHERE id=? AND ended_at=0`).orElse(knownTurn)
	stmtHasTurn     = newStatement("", `SELECT 1 FROM turns WHERE id=?`)
	stmtSessionOurs = newStatement("note session", `INSERT INTO sessions(id, ours, completed, total_cost) VALUES(?,1,0,0)
		ON CONFLICT(id) DO UPDATE SET ours=1`)
	stmtSessionDone = newStatement("note session", `INSERT INTO sessions(id, ours, completed, total_cost) VALUES(?,0,1,?)
		ON CONFLICT(id) DO UPDATE SET completed=1, total_cost=max(total_cost,excluded.total_cost)
		WHERE completed=0 OR total_cost<excluded.total_cost`)
	stmtSessionCost = newStatement("note session", `INSERT INTO sessions(id, ours, completed, total_cost) VALUES(?,0,0,?)
		ON CONFLICT(id) DO UPDATE SET total_cost=excluded.total_cost WHERE total_cost<excluded.total_cost`)
	stmtBackground = newStatement("store background result",
		`INSERT INTO backgrounds(id, channel, created_at, is_error, text, woken_by) VALUES(?,?,?,?,?,?) ON CONFLICT(id) DO NOTHING`)
)

// knownTurn accepts that a turn keeps its end.
func knownTurn(c *writeConn, o *op) error { return c.exists(stmtHasTurn, o) }

func beginTurns(k *compiler, c *core.Change) {
	for _, t := range c.Begin {
		beginTurn(k, t)
	}
}

func beginTurn(k *compiler, t *core.Turn) {
	id := string(t.ID)
	line := string(t.Line)
	k.add(stmtTurn, id, id, t.SessionID, nanos(t.BegunAt), turnDoc(k, t), inline(line))
	k.body(bodyLine, id, line)
	for _, member := range t.Members {
		k.add(stmtRun, string(member), id, nanos(t.BegunAt), string(member))
	}
	noteOpened(k, t)
}

func updateTurns(k *compiler, c *core.Change) {
	for _, t := range c.Update {
		updateTurn(k, t)
	}
}

func updateTurn(k *compiler, t *core.Turn) {
	k.add(stmtUpdate, string(t.ID), t.SessionID, turnDoc(k, t), string(t.ID))
	noteOpened(k, t)
}

// turnDoc returns the document of a turn that has not ended.
func turnDoc(k *compiler, t *core.Turn) string {
	return k.doc(core.Turn{
		Channel: t.Channel,
		Members: t.Members,
		Opens:   t.Opens,
		Steered: t.Steered,
		CanAsk:  t.CanAsk,
		Notices: t.Notices,
	})
}

// noteOpened records that bareclaw created the session's id, if the turn opens the session.
func noteOpened(k *compiler, t *core.Turn) {
	if t.Opens && t.SessionID != "" {
		k.add(stmtSessionOurs, t.SessionID, t.SessionID)
	}
}

func endTurns(k *compiler, c *core.Change) {
	for _, t := range c.End {
		endTurn(k, t)
	}
}

func endTurn(k *compiler, t *core.Turn) {
	if t.EndedAt.IsZero() {
		k.fail(fmt.Errorf("end turn %s: no time given", t.ID))
		return
	}
	ending := core.Turn{Code: t.Code, Marks: t.Marks}
	text := any(nil)
	if t.Result != nil {
		doc := *t.Result
		ending.Result = &doc
		text = doc.Text
		doc.Text = ""
		doc.Cost = 0
		doc.Until = time.Time{}
	}
	k.add(stmtEnd, string(t.ID), nanos(t.EndedAt), t.SessionID, k.doc(ending), text, string(t.ID)).paid = paid(t.EndedAt, t.CostUSD)
	if t.Result == nil {
		return
	}
	if session := cmp.Or(t.SessionID, t.Result.SessionID); session != "" {
		k.add(stmtSessionDone, session, session, t.Result.TotalCost)
	}
}

func addBackgrounds(k *compiler, c *core.Change) {
	for _, b := range c.Background {
		addBackground(k, b)
	}
}

func addBackground(k *compiler, b *core.Background) {
	k.add(stmtBackground, b.ID, b.ID, string(b.Channel), nanos(b.CreatedAt), b.IsError, b.Text, b.WokenBy).paid = paid(b.CreatedAt, b.CostUSD)
	if b.SessionID != "" && b.TotalCost > 0 {
		k.add(stmtSessionCost, b.SessionID, b.SessionID, b.TotalCost)
	}
}

// turns reads turns and sessions and implements [core.TurnReader].
type turns struct{ reader *reader }

const turnColumns = `SELECT t.id, t.session, t.begun_at, t.ended_at, t.doc, coalesce(t.line, b.data, ''), t.ending, coalesce(t.result,'')
	FROM turns t LEFT JOIN bodies b ON t.line IS NULL AND b.kind=1 AND b.owner=t.id `

func scanTurn(scan scanFunc) (t core.Turn, err error) {
	var text string
	err = scan(&t.ID, &t.SessionID, at(&t.BegunAt), at(&t.EndedAt), storedDoc{&t}, &t.Line, storedDoc{&t}, &text)
	if err != nil {
		return t, fmt.Errorf("turn %s: %w", t.ID, err)
	}
	if t.Result != nil {
		t.Result.Text = text
	}
	return t, nil
}

// Turn implements [core.TurnReader].
func (l turns) Turn(ctx context.Context, id core.TurnID) (core.Turn, error) {
	return readOne(ctx, l.reader, "turn "+string(id), scanTurn, turnColumns+`WHERE t.id=?`, string(id))
}

// SessionUse implements [core.TurnReader]. An unknown session has the zero value.
func (l turns) SessionUse(ctx context.Context, sessionID string) (core.SessionUse, error) {
	u, err := readOne(ctx, l.reader, "session "+sessionID, func(scan scanFunc) (u core.SessionUse, err error) {
		err = scan(&u.Ours, &u.Completed, &u.TotalCost)
		return u, err
	}, `SELECT ours, completed, total_cost FROM sessions WHERE id=?`, sessionID)
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return u, err
}

// Backgrounds implements [core.TurnReader]. For a limit below 1 the list is empty.
func (l turns) Backgrounds(ctx context.Context, key core.ChannelKey, limit int) ([]core.Background, error) {
	return readAll(ctx, l.reader, "background results of "+string(key), func(scan scanFunc) (b core.Background, err error) {
		err = scan(&b.ID, &b.Channel, at(&b.CreatedAt), &b.IsError, &b.Text, &b.WokenBy)
		return b, err
	}, `SELECT id, channel, created_at, is_error, text, woken_by FROM backgrounds WHERE channel=? ORDER BY seq DESC LIMIT ?`, string(key), max(0, limit))
}
