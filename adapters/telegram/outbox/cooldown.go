package outbox

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/env"
)

// The scopes of a cooldown.
const (
	Polls     = "polls"
	Menu      = "menu"
	Files     = "files"
	Taps      = "taps"  // answers to taps
	scopeChat = "chat:" // + chat id; the limiter holds chats
)

type cooldownRecord struct {
	Until time.Time `json:"until"`
	Asked time.Time `json:"asked"`
}

// left returns the rest of a pause: never more than the whole length, in case the clock has
// been set back since.
func (c cooldownRecord) left(now time.Time) time.Duration {
	return max(0, min(c.Until.Sub(now), c.Until.Sub(c.Asked)))
}

// Cooldowns are the pauses requested by Telegram (retry_after). Pauses are recorded, to
// make the next process wait as well.
type Cooldowns struct {
	env *env.Env

	mu    sync.Mutex // guards until
	until map[string]time.Time
}

// Note starts and records a cooldown of a scope if an error requests a pause.
func (c *Cooldowns) Note(scope string, err error) {
	d, now := botapi.RetryAfter(err), time.Now()
	if d <= 0 {
		return
	}
	c.set(scope, now.Add(d))
	r := cooldownRecord{Until: now.Add(d), Asked: now}
	c.env.Records.Keep(context.Background(), "a pause that Telegram asked for", env.RecordCooldown+scope, r)
}

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
		env.Pause(ctx, left)
	}
}

// resume restores the cooldowns of earlier processes, and passes the cooldowns of chats
// to hold.
func (c *Cooldowns) resume(ctx context.Context, hold func(chat int64, until time.Time)) error {
	now := time.Now()
	return env.Each(ctx, c.env.Records, env.RecordCooldown, func(scope string, r cooldownRecord) {
		left := r.left(now)
		if left == 0 {
			return
		}
		c.set(scope, now.Add(left))
		if id, isChat := strings.CutPrefix(scope, scopeChat); isChat {
			chat, _ := strconv.ParseInt(id, 10, 64) // 0 is no chat
			hold(chat, now.Add(left))
		}
	})
}
