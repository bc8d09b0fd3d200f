package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"bareclaw/adapters"
	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"
	"bareclaw/internal/guard"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/wait"

	"github.com/go-telegram/bot/models"
)

const (
	maxPause = 30 * time.Second // between two polls that fail
	// staleOffset is the age beyond which the id of the last update does not predict the
	// next id: Telegram may then choose the next id at random:
	// https://core.telegram.org/bots/api#update. Telegram keeps updates for 24 h.
	staleOffset = 3 * 24 * time.Hour
)

// A poller receives updates. The poller records each update before acknowledging the
// update by the offset of the next poll. A poller is used by a single goroutine.
type poller struct {
	env    *base.Base
	inbox  adapters.Inbox
	client *botapi.Client
	sender *outbox.Sender
	chats  *chatBook
	health *health
	intake *intake

	timeout  time.Duration // of a poll
	lockFile string
	holder   int           // process id in the lock file
	stale    time.Duration // see staleOffset

	introduced bool // the bot's name has been fetched
	unrecorded unrecorded
}

func (p *poller) poll(ctx context.Context) {
	lock := p.lock(ctx)
	defer func() { _ = lock.Close() }() // nil: an error
	if left := p.sender.Cooldowns.Left(outbox.Polls); left > 0 {
		p.unwell(&botapi.Error{
			Method:     "getUpdates",
			Status:     http.StatusTooManyRequests,
			Text:       "asked of an earlier process",
			RetryAfter: left.Truncate(time.Second) + time.Second,
		})
		p.sender.Cooldowns.Await(ctx, outbox.Polls)
	}
	offset, hold, heard := p.resumeOffset(ctx), time.Duration(0), time.Now()
	pauses := throttle.NewBackoff(maxPause)
	for ctx.Err() == nil {
		next := offset
		err := guard.Do(p.env.Log, "polling Telegram", func() (err error) {
			next, err = p.pollOnce(ctx, offset, hold)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && next != offset:
			heard = time.Now()
		case err == nil && time.Since(heard) > p.stale:
			next = 0 // all updates not acknowledged
		}
		p.intake.polled(err == nil)
		if err == nil {
			offset, hold = next, p.timeout
			pauses.Reset()
			continue
		}
		p.sender.Cooldowns.Note(outbox.Polls, err)
		p.unwell(err)
		_ = wait.Sleep(ctx, pollPause(err, pauses.Next()))
		hold = 0 // to learn at once when polls work again
	}
}

func (p *poller) pollOnce(ctx context.Context, offset int64, hold time.Duration) (int64, error) {
	if err := p.introduce(ctx); err != nil {
		return offset, err
	}
	updates, err := p.client.Updates(ctx, offset, hold)
	if err == nil {
		offset, err = p.receive(ctx, updates, offset)
	}
	if err != nil {
		return offset, err
	}
	if over := p.health.polled(time.Now()); over != "" {
		p.env.Log.Info("telegram: messages are received again", "problem_was", over)
	}
	return offset, nil
}

func (p *poller) unwell(err error) {
	if problem := pollProblem(err); p.health.failed(problem) {
		p.env.Log.Warn("telegram: no messages are received", "problem", problem, "err", err)
	}
}

// introduce fetches the bot's name, once. The recorded name serves to handle messages
// while Telegram is unreachable.
func (p *poller) introduce(ctx context.Context) error {
	if p.introduced {
		return nil
	}
	me, err := p.client.Me(ctx)
	if err != nil {
		return err
	}
	if me.ID != p.env.Bot {
		return &botapi.Error{Method: "getMe", Status: http.StatusUnauthorized, Text: fmt.Sprintf("the token is of bot %d, not %d", me.ID, p.env.Bot)}
	}
	p.introduced = true
	known := p.health.name()
	p.health.setName(me.Username)
	p.env.Log.Info("telegram: the bot is known", "name", me.Username)
	if known != me.Username {
		p.env.Records.Keep(ctx, "the bot's name", records.RecordBot, records.Name{Name: me.Username})
	}
	return nil
}

func (p *poller) resumeOffset(ctx context.Context) int64 {
	last, err := p.inbox.LastInbound(ctx, Name)
	if err != nil || time.Since(last.ReceivedAt) > staleOffset {
		return 0
	}
	bot, update, ok := parseSourceKey(last.ID)
	if !ok || bot != p.env.Bot {
		return 0
	}
	return update + 1
}

func (p *poller) resumeUnhandled(ctx context.Context) error {
	left, err := p.inbox.Unhandled(ctx, Name)
	if err != nil {
		return fmt.Errorf("telegram: read unhandled updates: %w", err)
	}
	for _, in := range left {
		r, err := decode(p.env.Log, &in)
		if err != nil { // recorded by an earlier version
			p.env.Log.Error("telegram: an unreadable update is ignored", "update", in.ID, "err", err)
		}
		p.hears(&r.update)
		p.intake.add(r)
	}
	return nil
}

// errNoIDs reports updates without ids: the updates cannot be acknowledged, and would be
// received again at once.
var errNoIDs = &botapi.Error{Method: "getUpdates", Status: http.StatusOK, Text: "the updates have no ids"}

// receive records updates and passes the updates to the intake. The returned offset
// acknowledges the updates, and may be below the offset of the poll: after a week
// without any update Telegram begins a new sequence of ids.
func (p *poller) receive(ctx context.Context, updates []json.RawMessage, offset int64) (int64, error) {
	if len(updates) == 0 {
		return offset, nil
	}
	var next int64
	var in []*core.Inbound
	var arrivals []*arrival
	for _, raw := range updates {
		r, err := decode(p.env.Log, &core.Inbound{Adapter: Name, Body: raw})
		id := r.update.ID
		next = max(next, id+1)
		switch {
		case id == 0:
			p.env.Log.Error("telegram: an update without id is ignored")
		case err != nil:
			p.env.Log.Error("telegram: an unreadable update is ignored", "update", id, "err", err)
		case !p.hears(&r.update):
			p.health.strangers.Add(1)
		default:
			r.ID = sourceKey(p.env.Bot, id)
			in, arrivals = append(in, r.Inbound), append(arrivals, r)
		}
	}
	switch {
	case next <= 1:
		return offset, errNoIDs
	case len(in) == 0:
		return next, nil
	}
	if err := p.inbox.Receive(ctx, in); err != nil {
		if records.IsStorage(err) {
			p.tellUnrecorded(arrivals)
		}
		return offset, err
	}
	p.unrecorded = unrecorded{}
	for _, r := range arrivals {
		p.intake.add(r)
	}
	return next, nil
}

// hears reports whether an update counts: the update is from an allowed user, or
// concerns a chat in which an allowed user has written.
func (p *poller) hears(u *models.Update) bool {
	o := botapi.OriginOf(u)
	if p.chats.allowed[o.Sender] {
		p.chats.heard(o.Chat)
		return true
	}
	return o.Service && p.chats.spoken(o.Chat)
}

func sourceKey(bot, update int64) string { return fmt.Sprintf("tg:%d:%d", bot, update) }

func parseSourceKey(key string) (bot, update int64, ok bool) {
	_, err := fmt.Sscanf(key, "tg:%d:%d", &bot, &update)
	return bot, update, err == nil
}

// pollPause returns the pause after an error; usual is the pause after errors without one of their own.
func pollPause(err error, usual time.Duration) time.Duration {
	if d := botapi.RetryAfter(err); d > 0 {
		return d
	}
	if records.IsStorage(err) {
		return records.StoragePause
	}
	return usual
}

// lockPause is the time between two attempts to take the lock. After a hand-over no
// update is received for up to lockPause.
const lockPause = 100 * time.Millisecond

// lock locks the lock file, which makes the process the user's only polling process: of two
// polling processes, each would receive some of the updates. lock returns the file once
// every other process has released the lock, nil when ctx ended first, or where no lock is
// configured. The lock ends with the process, or when the file is closed.
func (p *poller) lock(ctx context.Context) *os.File {
	if p.lockFile == "" {
		return nil
	}
	for ctx.Err() == nil {
		f, err := lockfile.Own(p.lockFile, p.holder, lockfile.Try)
		if err == nil {
			return f
		}
		if problem := lockProblem(err, p.lockFile); p.health.failed(problem) {
			p.env.Log.Warn("telegram: no messages are received", "problem", problem, "err", err)
		}
		_ = wait.Sleep(ctx, lockPause)
	}
	return nil
}

func lockProblem(err error, path string) string {
	if !errors.Is(err, lockfile.ErrHeld) {
		return "Telegram is not polled: " + err.Error()
	}
	who := ""
	if pid := lockfile.Owner(path); pid > 0 {
		who = fmt.Sprintf(" (pid %d)", pid)
	}
	return "Another gateway of this user" + who + " receives this bot's messages. Stop it, or give this one another bot."
}
