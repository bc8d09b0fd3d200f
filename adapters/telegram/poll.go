package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/core"
)

const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
	// staleOffset is the age from which on what was received last says nothing of the
	// next update's id, which may then be chosen at random:
	// https://core.telegram.org/bots/api#update. Telegram keeps updates for 24 h.
	staleOffset = 3 * 24 * time.Hour
)

// poll receives updates until ctx ends: each is on record before Telegram is told,
// by the offset of the next poll, that it was received.
func (a *Adapter) poll(ctx context.Context) {
	lock := a.lockPolling(ctx)
	defer lock.release()
	if left := a.cooldowns.left(scopePolls); left > 0 {
		err := cooling(left)
		a.unwell(pollProblem(err), err)
		a.cooldowns.await(ctx, scopePolls)
	}
	offset, wait, heard := a.resumeAt(ctx), time.Duration(0), time.Now()
	for failures := 0; ctx.Err() == nil; {
		next, err := a.pollOnce(ctx, offset, wait)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			if next != offset {
				heard = time.Now()
			} else if time.Since(heard) > a.stale {
				next = 0 // all that is not acknowledged
			}
			offset, wait, failures = next, a.o.PollTimeout, 0
			continue
		}
		if d := botapi.RetryAfter(err); d > 0 {
			a.coolDown(scopePolls, d)
		}
		a.unwell(pollProblem(err), err)
		tasks.Pause(ctx, pollPause(err, failures))
		wait = 0 // it is known at once when it works again
		failures++
	}
}

// pollOnce asks for updates and records them. It returns the offset after them.
func (a *Adapter) pollOnce(ctx context.Context, offset int64, wait time.Duration) (int64, error) {
	if err := a.introduce(ctx); err != nil {
		return offset, err
	}
	updates, err := a.client.Updates(ctx, offset, wait)
	if err == nil {
		offset, err = a.receive(ctx, updates, offset)
	}
	if err != nil {
		return offset, err
	}
	if over := a.health.polled(time.Now()); over != "" {
		a.o.Log.Info("telegram: messages are received again", "problem_was", over)
	}
	return offset, nil
}

// introduce asks who the bot is, once in the process's life. Its name is kept for
// those that handle messages while Telegram cannot be reached.
func (a *Adapter) introduce(ctx context.Context) error {
	if a.introduced {
		return nil
	}
	me, err := a.client.Me(ctx)
	if err != nil {
		return err
	}
	if me.ID != a.botID {
		return &botapi.Error{Method: "getMe", Status: http.StatusUnauthorized, Text: fmt.Sprintf("it is bot %d, not %d", me.ID, a.botID)}
	}
	a.introduced = true
	known := a.health.name()
	a.health.named(me.Username)
	a.o.Log.Info("telegram: this is the bot", "name", me.Username)
	if known == me.Username {
		return nil
	}
	if err := a.records.Put(ctx, records.Bot, botRecord{Name: me.Username}); err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: the bot's name is not kept", "err", err)
	}
	return nil
}

// resumeAt returns the offset after what an earlier process has received.
func (a *Adapter) resumeAt(ctx context.Context) int64 {
	last, err := a.o.Core.LastInbound(ctx, Name)
	if err != nil || time.Since(last.ReceivedAt) > staleOffset {
		return 0
	}
	bot, update, ok := parseSourceKey(last.ID)
	if !ok || bot != a.botID {
		return 0
	}
	return update + 1
}

// errNoIDs: what Telegram gives cannot be acknowledged, and would come again at once.
var errNoIDs = &botapi.Error{Method: "getUpdates", Status: http.StatusOK, Text: "its updates have no ids"}

// receive records updates and lets them be handled. It returns the offset that
// acknowledges them, which may be below the one that they were asked for with: after a
// week without any Telegram begins to count anew.
func (a *Adapter) receive(ctx context.Context, updates []json.RawMessage, offset int64) (int64, error) {
	if len(updates) == 0 {
		return offset, nil
	}
	var next int64
	var in []*core.Inbound
	for _, raw := range updates {
		g := botapi.Peek(raw)
		next = max(next, g.Id+1)
		switch {
		case g.Id == 0:
			a.o.Log.Error("telegram: an update has no id, so it cannot be told from others")
		case g.Strange:
			a.o.Log.Error("telegram: an update cannot be read; it is left out", "update", g.Id)
		case !a.hears(g):
			a.health.strangers.Add(1)
		default:
			in = append(in, &core.Inbound{ID: sourceKey(a.botID, g.Id), Adapter: Name, Body: raw})
		}
	}
	if next <= 1 {
		return offset, errNoIDs
	}
	if len(in) == 0 {
		return next, nil
	}
	if err := a.o.Core.Receive(ctx, in); err != nil {
		if tasks.IsStorage(err) {
			a.waits(in)
		}
		return offset, err
	}
	a.recorded()
	for _, i := range in {
		a.intake.add(*i)
	}
	return next, nil
}

// hears reports whether an update is listened to: what users say who are allowed
// to, and what becomes of chats where one of them has spoken.
func (a *Adapter) hears(g botapi.Header) bool {
	if a.allowed[g.Sender] {
		a.chats.heard(g.Chat)
		return true
	}
	return g.Service && a.chats.spoken(g.Chat)
}

func sourceKey(bot, update int64) string { return fmt.Sprintf("tg:%d:%d", bot, update) }

func parseSourceKey(key string) (bot, update int64, ok bool) {
	_, err := fmt.Sscanf(key, "tg:%d:%d", &bot, &update)
	return bot, update, err == nil
}

// pollPause is how long is waited after the nth failure in a row, counted from 0.
func pollPause(err error, n int) time.Duration {
	if d := botapi.RetryAfter(err); d > 0 {
		return d
	}
	if tasks.IsStorage(err) {
		return tasks.StoragePause
	}
	d := min(firstPause<<min(n, 10), maxPause)
	return d/2 + rand.N(d/2) // others that were refused at the same time come at another
}
