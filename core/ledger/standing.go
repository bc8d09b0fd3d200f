package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"bareclaw/core"
	"bareclaw/core/schedule"
)

// Standing is what a ledger has a gateway do by itself, or lets Claude do unasked.
type Standing struct {
	Jobs    []schedule.Job // that have occurrences to come
	Modes   map[core.ChannelKey]string
	Rules   []core.Rule
	Waiting int64 // messages without an outcome
}

// ReadStanding reads a ledger file that no process has open, without changing the file. Tables
// that an older ledger lacks are empty.
func ReadStanding(ctx context.Context, path string) (s Standing, err error) {
	s.Modes = map[core.ChannelKey]string{}
	err = view(path, true, func(c *sql.Conn) error { return s.read(ctx, c) })
	if err != nil {
		return Standing{}, fmt.Errorf("read ledger %s: %w", path, err)
	}
	return s, nil
}

func (s *Standing) read(ctx context.Context, c *sql.Conn) error {
	tables, err := list(ctx, c, column[string], `SELECT name FROM sqlite_master`)
	if err != nil {
		return err
	}
	for _, table := range tables {
		switch table {
		case "schedules":
			s.Jobs, err = list(ctx, c, scanJob, jobColumns+`WHERE done_at=0 ORDER BY seq`)
		case "rules":
			s.Rules, err = list(ctx, c, scanRule, selectRules)
		case "settings":
			_, err = list(ctx, c, s.scanMode, `SELECT channel, permission_mode FROM settings WHERE permission_mode<>''`)
		}
		if err != nil {
			return err
		}
	}
	balance, err := list(ctx, c, scanBalance, selectBalance)
	if err == nil && len(balance) > 0 {
		s.Waiting = balance[0].Waiting
	}
	return err
}

func (s *Standing) scanMode(scan scanFunc) (_ struct{}, err error) {
	var key core.ChannelKey
	var mode string
	err = scan(&key, &mode)
	s.Modes[key] = mode
	return struct{}{}, err
}
