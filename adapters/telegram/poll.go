package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"bareclaw/core"
)

const (
	firstPause = time.Second
	maxPause   = time.Minute
	// staleOffset is the age from which on what was received last says nothing of the
	// next update's id, which may then be chosen at random:
	// https://core.telegram.org/bots/api#update. Telegram keeps updates for 24 h.
	staleOffset = 3 * 24 * time.Hour
)

// poll receives updates until ctx ends: each is on record before Telegram is told,
// by the offset of the next poll, that it was received.
func (a *Adapter) poll(ctx context.Context) {
	offset := a.resumeAt(ctx)
	for failures := 0; ctx.Err() == nil; {
		updates, err := a.client.updates(ctx, offset, a.o.PollTimeout)
		if err == nil {
			a.health.polled(time.Now())
			offset, err = a.receive(ctx, updates, offset)
		}
		if err == nil {
			failures = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		a.health.failed(pollProblem(err))
		a.o.Log.Warn("telegram: not polled", "err", err)
		pause(ctx, pollPause(err, failures))
		failures++
	}
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

// receive records updates and lets them be handled. It returns the offset that
// acknowledges them.
func (a *Adapter) receive(ctx context.Context, updates []json.RawMessage, offset int64) (int64, error) {
	before := offset
	var in []*core.Inbound
	for _, raw := range updates {
		id, sender := glimpse(raw)
		if id == 0 {
			a.o.Log.Error("telegram: an update has no id, so it cannot be told from others")
			continue
		}
		offset = max(offset, id+1)
		if sender != 0 && !a.allowed[sender] {
			a.health.strangers.Add(1)
			continue
		}
		in = append(in, &core.Inbound{ID: sourceKey(a.botID, id), Adapter: Name, Body: raw})
	}
	if len(in) == 0 {
		return offset, nil
	}
	if err := a.o.Core.Receive(ctx, in); err != nil {
		return before, err
	}
	for _, i := range in {
		a.intake.add(*i)
	}
	return offset, nil
}

func sourceKey(bot, update int64) string { return fmt.Sprintf("tg:%d:%d", bot, update) }

func parseSourceKey(key string) (bot, update int64, ok bool) {
	_, err := fmt.Sscanf(key, "tg:%d:%d", &bot, &update)
	return bot, update, err == nil
}

// glimpse reads what must be known of an update before anything else: its id, and
// who it is from, 0 where it is from nobody.
func glimpse(raw json.RawMessage) (id, sender int64) {
	type from struct {
		From *struct {
			ID int64 `json:"id"`
		} `json:"from"`
	}
	var u struct {
		ID       int64 `json:"update_id"`
		Message  *from `json:"message"`
		Edited   *from `json:"edited_message"`
		Callback *from `json:"callback_query"`
		Member   *from `json:"my_chat_member"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return 0, 0
	}
	for _, f := range []*from{u.Message, u.Edited, u.Callback, u.Member} {
		if f != nil && f.From != nil {
			return u.ID, f.From.ID
		}
	}
	return u.ID, 0
}

// pollPause is how long is waited after the nth failure in a row, counted from 0.
func pollPause(err error, n int) time.Duration {
	if api := (*apiError)(nil); errors.As(err, &api) && api.retryAfter > 0 {
		return api.retryAfter
	}
	d := min(firstPause<<min(n, 10), maxPause)
	return d/2 + rand.N(d/2) // others that were refused at the same time come at another
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
