package ledger

import (
	"context"
	"time"

	"bareclaw/core"
)

// Usage implements [core.Ledger].
func (l *Ledger) Usage(ctx context.Context, key core.ChannelKey, since time.Time) (core.Usage, error) {
	return readOne(ctx, l, func(scan func(...any) error) (u core.Usage, err error) {
		err = scan(&u.Turns, &u.TurnsToday, &u.Spent, &u.SpentToday)
		return u, err
	}, "usage of channel "+string(key), `SELECT
		count(DISTINCT turn), count(DISTINCT CASE WHEN ended_at>=?1 THEN turn END),
		total(json_extract(outcome, '$.cost_usd')), total(CASE WHEN ended_at>=?1 THEN json_extract(outcome, '$.cost_usd') END)
		FROM messages WHERE channel=?2 AND state>=2`, nanos(since), string(key))
}
