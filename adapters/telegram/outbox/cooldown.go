package outbox

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/core"
)

// The scopes of a cooldown.
const (
	Polls     = "polls"
	Menu      = "menu"
	Files     = "files"
	Taps      = "taps"  // answers to taps
	scopeChat = "chat:" // + chat id; the limiter holds chats
)

// A cooldownRecord is the end of a pause. The time of the record gives the length of the
// pause, in case the clock is set back.
type cooldownRecord struct {
	Until time.Time `json:"until"`
}

// Cooldowns are the pauses requested by Telegram (retry_after). Pauses are recorded, to
// make the next process wait as well.
type Cooldowns struct {
	env *env.Env

	mu    sync.Mutex // guards until
	until map[string]time.Time
}

func newCooldowns(e *env.Env) *Cooldowns {
	return &Cooldowns{env: e, until: map[string]time.Time{}}
}

// Note starts and records a cooldown of a scope if an error requests a pause.
func (c *Cooldowns) Note(scope string, err error) {
	d := botapi.RetryAfter(err)
	if d <= 0 {
		return
	}
	until := time.Now().Add(d)
	if !strings.HasPrefix(scope, scopeChat) {
		c.set(scope, until)
	}
	c.env.Records.Keep(context.Background(), "a pause that Telegram asked for", records.Cooldown+scope, cooldownRecord{Until: until.Round(0)})
}

// chat is Note for a chat, whose pause the limiter enforces in the running process.
func (c *Cooldowns) chat(chat int64, err error) { c.Note(scopeChat+strconv.FormatInt(chat, 10), err) }

func (c *Cooldowns) set(scope string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until[scope] = until
}

// Left returns how long a scope must not be called.
func (c *Cooldowns) Left(scope string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, time.Until(c.until[scope]))
}

// Await waits until a scope may be called, or ctx ends.
func (c *Cooldowns) Await(ctx context.Context, scope string) {
	for left := c.Left(scope); left > 0 && ctx.Err() == nil; left = c.Left(scope) {
		tasks.Pause(ctx, left)
	}
}

// resume restores the cooldowns of earlier processes, and passes the cooldowns of chats
// to hold.
func (c *Cooldowns) resume(ctx context.Context, hold func(chat int64, until time.Time)) error {
	all, err := c.env.Records.All(ctx, records.Cooldown)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, r := range all {
		scope := strings.TrimPrefix(r.Key, records.Cooldown)
		until := now.Add(cooldownLeft(r, now))
		id, isChat := strings.CutPrefix(scope, scopeChat)
		chat, err := strconv.ParseInt(id, 10, 64)
		switch {
		case !until.After(now):
			c.env.Records.Forget(ctx, "an old record", r.Key)
		case !isChat:
			c.set(scope, until)
		case err == nil:
			hold(chat, until)
		}
	}
	return nil
}

// cooldownLeft returns the rest of a cooldown: never more than the whole length, in case
// the clock has been set back since.
func cooldownLeft(r core.Record, now time.Time) time.Duration {
	var c cooldownRecord
	if json.Unmarshal(r.Doc, &c) != nil {
		return 0
	}
	return max(0, min(c.Until.Sub(now), c.Until.Sub(r.At)))
}
