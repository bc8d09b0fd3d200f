package outbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/internal/guard"
	"bareclaw/internal/wait"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

const (
	// drainTime bounds a call in flight when the adapter ends: an interrupted call may have
	// arrived, and would be repeated.
	drainTime = time.Second
	// TypingEvery is the time between two typing actions: each is shown for 5 s,
	// https://core.telegram.org/bots/api#sendchataction
	TypingEvery = 4 * time.Second
)

// ErrClosing means that the adapter ended before the call, or during the call.
var ErrClosing = errors.New("the gateway is shutting down")

// A Sender makes the sending calls, as soon as the rate limits allow. Its methods are
// safe for concurrent use.
type Sender struct {
	Client    *botapi.Client
	Cooldowns *Cooldowns

	limiter *throttle.Limiter
	env     *base.Base
}

// NewSender returns a sender.
func NewSender(c *botapi.Client, e *base.Base) *Sender {
	return &Sender{Client: c, Cooldowns: &Cooldowns{env: e, until: map[string]time.Time{}}, limiter: throttle.New(botapi.RetryAfter), env: e}
}

// Resume restores the pauses that Telegram requested from earlier processes.
func (s *Sender) Resume(ctx context.Context) error { return s.Cooldowns.resume(ctx, s.limiter.Hold) }

// Send makes one call that sends to a chat, once the limits allow. If ctx ends before, Send
// makes no call. The end of ctx does not interrupt a call that has begun.
func (s *Sender) Send(ctx context.Context, to chats.Address, class throttle.Class, do func(context.Context) error) error {
	return s.sendWithin(ctx, botapi.CallTimeout, to, class, do)
}

// sendWithin is Send with a time limit of the call. A pause requested by Telegram is
// recorded.
func (s *Sender) sendWithin(ctx context.Context, limit time.Duration, to chats.Address, class throttle.Class, do func(context.Context) error) error {
	err := s.limiter.Do(ctx, to.Chat, class, func() error {
		err := guard.Do(s.env.Log, "sending to a chat", func() error { return s.Call(limit, do) })
		s.Cooldowns.Note(scopeChat+strconv.FormatInt(to.Chat, 10), err)
		return err
	})
	if err != nil && s.env.Work.Ended() && !Permanent(err) {
		return fmt.Errorf("%w: %w", ErrClosing, err)
	}
	return err
}

// Post makes a call in the background whose loss is acceptable.
func (s *Sender) Post(to chats.Address, class throttle.Class, do func(context.Context) error) {
	s.env.Work.Go(func(ctx context.Context) { _ = s.Send(ctx, to, class, do) })
}

// Call makes a call of the API within a time limit, unless the adapter has ended.
func (s *Sender) Call(limit time.Duration, do func(context.Context) error) error {
	if s.env.Work.Ended() {
		return ErrClosing
	}
	ending := s.env.Work.Context()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ending), limit)
	defer cancel()
	defer context.AfterFunc(ending, func() { time.AfterFunc(drainTime, cancel) })()
	return do(ctx)
}

// Typing shows briefly that the bot is typing.
func (s *Sender) Typing(to chats.Address) {
	s.Post(to, throttle.Hint, func(ctx context.Context) error {
		_, err := s.Client.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: to.Chat, MessageThreadID: to.Thread, Action: models.ChatActionTyping})
		return err
	})
}

// TypeUntil shows that the bot is typing until a call of end or the end of ctx.
func (s *Sender) TypeUntil(ctx context.Context, to chats.Address) (end func()) {
	ctx, end = context.WithCancel(ctx)
	s.env.Work.Go(func(context.Context) { // ends by end, or with ctx
		for ; ctx.Err() == nil; _ = wait.Sleep(ctx, TypingEvery) {
			s.Typing(to)
		}
	})
	return end
}

// ErrUndeliverable marks a delivery beyond any further attempt.
var ErrUndeliverable = errors.New("cannot be sent")

// Undeliverable marks err as ErrUndeliverable without changing the text of err.
func Undeliverable(err error) error { return undeliverable{err} }

type undeliverable struct{ error }

// Unwrap returns the reason and the mark.
func (u undeliverable) Unwrap() []error { return []error{u.error, ErrUndeliverable} }

// Permanent reports whether no further attempt can succeed after an error.
func Permanent(err error) bool {
	return errors.Is(err, ErrUndeliverable) || errors.Is(err, guard.ErrPanic) || errors.Is(err, bot.ErrorForbidden) || errors.Is(err, bot.ErrorBadRequest)
}

// Interrupted reports whether the adapter ended first: the next process continues.
func Interrupted(err error) bool { return errors.Is(err, ErrClosing) }

// mayHaveArrived reports whether Telegram may have carried out a failed call: the call was
// not answered. A refused token is an answer.
func mayHaveArrived(err error) bool {
	return !Permanent(err) && botapi.RetryAfter(err) == 0 &&
		!errors.Is(err, bot.ErrorUnauthorized) && !errors.Is(err, bot.ErrorNotFound) && !errors.Is(err, ErrClosing) && !botapi.NeverSent(err)
}

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
	env *base.Base

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
	c.env.Records.Keep(context.Background(), "a pause that Telegram asked for", records.RecordCooldown+scope, r)
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
		_ = wait.Sleep(ctx, left)
	}
}

// resume restores the cooldowns of earlier processes, and passes the cooldowns of chats
// to hold.
func (c *Cooldowns) resume(ctx context.Context, hold func(chat int64, until time.Time)) error {
	now := time.Now()
	return records.Each(ctx, c.env.Records, records.RecordCooldown, func(scope string, r cooldownRecord) {
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
