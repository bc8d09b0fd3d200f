package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"bareclaw/core"
	"bareclaw/core/schedule"
)

// Standing is what a ledger has a gateway do by itself, or lets Claude do unasked.
type Standing struct {
	Jobs   []schedule.Job // that have occurrences to come
	Modes  map[core.ChannelKey]string
	Rules  []core.Rule
	Given  []Given                 // what waits, or was cut off
	Inbox  int64                   // updates of chats that no adapter has read yet
	Unsent map[core.ChannelKey]int // deliveries that are not sent yet, which may have files
}

// A Given is a text that Claude may be given when a gateway starts.
type Given struct {
	Channel core.ChannelKey
	Text    string // shortened as in lists; of a turn that was cut off, the line as Claude reads it
}

// ReadStanding reads a ledger file that no process has open and that is [Version.Readable],
// without changing the file.
func ReadStanding(ctx context.Context, path string) (s Standing, err error) {
	s.Modes = map[core.ChannelKey]string{}
	s.Unsent = map[core.ChannelKey]int{}
	err = view(path, true, func(c *sql.Conn) error { return s.read(ctx, c) })
	if err != nil {
		return Standing{}, fmt.Errorf("read ledger %s: %w", path, err)
	}
	return s, nil
}

func (s *Standing) read(ctx context.Context, c *sql.Conn) (err error) {
	if s.Jobs, err = list(ctx, c, scanJob, jobColumns+`WHERE done_at=0 ORDER BY seq`); err != nil {
		return err
	}
	if s.Rules, err = list(ctx, c, scanRule, selectRules); err != nil {
		return err
	}
	for _, q := range []struct {
		scan func(scanFunc) (struct{}, error)
		text string
	}{
		{s.scanMode, `SELECT channel, permission_mode FROM settings WHERE permission_mode<>''`},
		{s.scanMessage, `SELECT m.channel, m.doc, coalesce(m.content, b.data, '')
			FROM messages m LEFT JOIN bodies b ON m.content IS NULL AND b.kind=0 AND b.owner=m.id WHERE m.state<2 ORDER BY m.seq`},
		{s.scanOpenTurn, turnColumns + `WHERE t.ended_at=0 ORDER BY t.seq`},
		{s.scanMessage, `SELECT channel, doc, content FROM arrivals ORDER BY seq`},
		{s.scanLine, `SELECT channel, line FROM arrivals WHERE line IS NOT NULL ORDER BY seq`},
		{s.scanUnsent, `SELECT channel, count(*) FROM deliveries WHERE state='pending' GROUP BY channel`},
		{s.scanInbox, `SELECT count(*) FROM inbox WHERE handled=0`},
	} {
		if _, err := list(ctx, c, q.scan, q.text); err != nil {
			return err
		}
	}
	return nil
}

// scanMessage reads the content itself: a program that writes a ledger of its own may describe it
// as it likes.
func (s *Standing) scanMessage(scan scanFunc) (_ struct{}, err error) {
	var key core.ChannelKey
	var doc messageDoc
	var stored string
	if err = scan(&key, storedDoc{&doc}, &stored); err != nil {
		return struct{}{}, err
	}
	content, err := decodeContent(stored, doc.Blocks)
	s.give(key, core.PromptOf(content).Text)
	return struct{}{}, err
}

func (s *Standing) scanOpenTurn(scan scanFunc) (_ struct{}, err error) {
	t, err := scanTurn(scan)
	s.give(t.Channel, string(t.Line))
	return struct{}{}, err
}

func (s *Standing) scanLine(scan scanFunc) (_ struct{}, err error) {
	var key core.ChannelKey
	var line string
	err = scan(&key, &line)
	s.give(key, line)
	return struct{}{}, err
}

func (s *Standing) give(key core.ChannelKey, text string) {
	s.Given = append(s.Given, Given{key, core.Prompt{Text: text}.Short().Text})
}

func (s *Standing) scanMode(scan scanFunc) (_ struct{}, err error) {
	var key core.ChannelKey
	var mode string
	err = scan(&key, &mode)
	s.Modes[key] = mode
	return struct{}{}, err
}

func (s *Standing) scanUnsent(scan scanFunc) (_ struct{}, err error) {
	var key core.ChannelKey
	var n int
	err = scan(&key, &n)
	s.Unsent[key] = n
	return struct{}{}, err
}

func (s *Standing) scanInbox(scan scanFunc) (struct{}, error) {
	return struct{}{}, scan(&s.Inbox)
}
