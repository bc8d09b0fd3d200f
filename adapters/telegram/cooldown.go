package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"
)

// The scopes of a cooldown.
const (
	scopePolls = "polls"
	scopeMenu  = "menu"
	scopeFiles = "files"
	scopeTaps  = "taps"  // answers to taps
	scopeChat  = "chat:" // + chat id; kept by the schedule
)

// A cooldownRecord says until when Telegram wants no calls of a scope. It is written
// when Telegram says so, which tells a clock that was set back.
type cooldownRecord struct {
	Until time.Time `json:"until"`
}

// cooldowns are the times that Telegram has asked to wait for, of scopes that are no
// chats.
type cooldowns struct {
	mu    sync.Mutex // guards until
	until map[string]time.Time
}

// coolDown keeps a scope from being called for some time, in this process and in the
// next one. It returns once that is on record.
func (a *Adapter) coolDown(scope string, d time.Duration) {
	until := time.Now().Add(d)
	if !strings.HasPrefix(scope, scopeChat) {
		a.cooldowns.set(scope, until)
	}
	if err := a.records.Put(context.Background(), records.Cooldown+scope, cooldownRecord{Until: until.Round(0)}); err != nil {
		a.o.Log.Warn("telegram: a restart would forget how long Telegram asks to wait", "scope", scope, "for", d, "err", err)
	}
}

// coolDownChat does so for a chat where that is what a call has failed of. The
// schedule holds the chat in this process.
func (a *Adapter) coolDownChat(chat int64, err error) {
	if d := botapi.RetryAfter(err); d > 0 {
		a.coolDown(scopeChat+strconv.FormatInt(chat, 10), d)
	}
}

func (c *cooldowns) set(scope string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil {
		c.until = map[string]time.Time{}
	}
	c.until[scope] = until
}

// left returns how long a scope is not to be called.
func (c *cooldowns) left(scope string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, time.Until(c.until[scope]))
}

// await waits until a scope may be called, or ctx ends.
func (c *cooldowns) await(ctx context.Context, scope string) {
	for left := c.left(scope); left > 0 && ctx.Err() == nil; left = c.left(scope) {
		tasks.Pause(ctx, left)
	}
}

// resumeCooldowns takes up what earlier processes were asked to wait for.
func (a *Adapter) resumeCooldowns(ctx context.Context) error {
	all, err := a.o.Core.Records(ctx, Name, records.Cooldown)
	if err != nil {
		return fmt.Errorf("telegram: read how long Telegram asks to wait: %w", err)
	}
	now := time.Now()
	var over []*core.Record
	for _, r := range all {
		scope := strings.TrimPrefix(r.Key, records.Cooldown)
		until := now.Add(cooldownLeft(r, now))
		if !until.After(now) {
			over = append(over, records.Deletion(r.Key))
			continue
		}
		id, isChat := strings.CutPrefix(scope, scopeChat)
		if !isChat {
			a.cooldowns.set(scope, until)
		} else if chat, err := strconv.ParseInt(id, 10, 64); err == nil {
			a.sends.Hold(chat, chats.Address{Chat: chat}.Group(), until)
		}
	}
	if len(over) == 0 {
		return nil
	}
	if err := a.records.Write(ctx, over...); err != nil && ctx.Err() == nil {
		a.o.Log.Debug("telegram: old records are kept", "err", err)
	}
	return nil
}

// cooldownLeft returns what is left of a cooldown; never more than it was when it was
// recorded, should the clock have been set back since.
func cooldownLeft(r core.Record, now time.Time) time.Duration {
	var c cooldownRecord
	if json.Unmarshal(r.Doc, &c) != nil {
		return 0
	}
	return max(0, min(c.Until.Sub(now), c.Until.Sub(r.At)))
}

// submitJob submits a job of which Telegram may say that it is to wait.
func (a *Adapter) submitJob(j throttle.Job) error {
	do := j.Do
	j.Do = func(ctx context.Context, try throttle.Try) error {
		err := do(ctx, try)
		a.coolDownChat(j.Chat, err)
		return err
	}
	return a.sends.Submit(j)
}

// cooling is the problem while polls wait for what an earlier process was asked to
// wait for.
func cooling(left time.Duration) error {
	return &botapi.Error{
		Method: "getUpdates", Status: http.StatusTooManyRequests, Text: "asked of an earlier process",
		RetryAfter: left.Truncate(time.Second) + time.Second,
	}
}
