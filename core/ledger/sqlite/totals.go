package sqlite

import (
	"context"
	"time"

	"bareclaw/core"
)

var (
	stmtCount = newStatement("", `UPDATE counters SET accepted=accepted+?, answered=answered+?, failed=failed+?, cancelled=cancelled+?`)
	stmtSpend = newStatement("", `INSERT INTO spending(day, usd) VALUES(?,?) ON CONFLICT(day) DO UPDATE SET usd=usd+excluded.usd`)
)

// counters holds a transaction's additions to the account: accepted, answered, failed and
// cancelled messages.
type counters [4]int64

// totals reads counts and costs and implements [core.TotalsReader].
type totals struct{ reader *reader }

const selectBalance = `SELECT accepted, answered, failed, cancelled, (SELECT count(*) FROM messages WHERE state<2) FROM counters`

func scanBalance(scan scanFunc) (b core.Balance, err error) {
	err = scan(&b.Accepted, &b.Answered, &b.Failed, &b.Cancelled, &b.Waiting)
	return b, err
}

// Balance implements [core.TotalsReader].
func (l totals) Balance(ctx context.Context) (core.Balance, error) {
	return readOne(ctx, l.reader, "the balance", scanBalance, selectBalance)
}

// Spent implements [core.TotalsReader]. An unknown day has cost 0.
func (l totals) Spent(ctx context.Context, day string) (float64, error) {
	return readOne(ctx, l.reader, "what was spent on "+day, column[float64], `SELECT total(usd) FROM spending WHERE day=?`, day)
}

// Usage implements [core.TotalsReader].
func (l totals) Usage(ctx context.Context, key core.ChannelKey, since time.Time) (core.Usage, error) {
	return readOne(ctx, l.reader, "usage of channel "+string(key), func(scan scanFunc) (u core.Usage, err error) {
		err = scan(&u.Turns, &u.TurnsToday, &u.Spent, &u.SpentToday)
		return u, err
	}, `SELECT
		count(DISTINCT turn), count(DISTINCT CASE WHEN ended_at>=?1 THEN turn END),
		total(json_extract(outcome, '$.cost_usd')), total(CASE WHEN ended_at>=?1 THEN json_extract(outcome, '$.cost_usd') END)
		FROM messages WHERE channel=?2 AND state>=2`, nanos(since), string(key))
}
