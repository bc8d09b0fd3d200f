package outbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

const (
	// maxInFlight bounds the calls in flight.
	maxInFlight = 16
	// maxAge bounds the attempts to send a delivery that Telegram neither accepts nor
	// refuses: a gateway may sleep over a weekend, or have no network.
	maxAge = 7 * 24 * time.Hour
	// drainTime bounds the wait for calls in flight when the adapter ends: an
	// interrupted call may have arrived, and would be repeated.
	drainTime = time.Second
	// TypingEvery is the time between two typing actions: each is shown for 5 s,
	// https://core.telegram.org/bots/api#sendchataction
	TypingEvery = 4 * time.Second
)

// ErrClosing means that the adapter began to end before the call.
var ErrClosing = errors.New("the gateway is shutting down")

// A Sender makes the sending calls, as soon as the rate limits allow. Its methods are
// safe for concurrent use.
type Sender struct {
	Client    *botapi.Client
	Cooldowns *Cooldowns

	schedule *throttle.Scheduler
	work     *tasks.Group
	log      *slog.Logger

	mu      sync.Mutex // guards the fields below
	calls   int        // in flight
	closed  bool       // no further call begins
	drained chan struct{}
}

// NewSender returns a sender that sends nothing before Run.
func NewSender(c *botapi.Client, store *records.Store, work *tasks.Group, log *slog.Logger) *Sender {
	return &Sender{
		Client: c, Cooldowns: newCooldowns(store, log), work: work, log: log,
		schedule: throttle.New(throttle.Options{Classify: classify, InFlight: maxInFlight, Durable: throttle.Bounds{Age: maxAge}, Log: log}),
	}
}

// Run sends until ctx ends, and returns when nothing is in flight.
func (s *Sender) Run(ctx context.Context) { _ = s.schedule.Run(ctx) } // returns only why ctx ended

// Resume restores the pauses that Telegram requested from earlier processes.
func (s *Sender) Resume(ctx context.Context) error {
	return s.Cooldowns.resume(ctx, func(chat int64, until time.Time) {
		s.schedule.Hold(chat, chats.Address{Chat: chat}.Group(), until)
	})
}

// Post submits a job whose loss is acceptable.
func (s *Sender) Post(j throttle.Job) {
	if err := s.submit(j); err != nil && j.Done != nil {
		j.Done(err)
	}
}

// submit submits a job. A pause requested by Telegram is recorded, and a panic fails the
// job for good.
func (s *Sender) submit(j throttle.Job) error {
	do := j.Do
	j.Do = func(ctx context.Context, try throttle.Try) error {
		err := tasks.Guard(s.log, "message to a chat", func() error { return do(ctx, try) })
		s.Cooldowns.chat(j.Chat, err)
		return err
	}
	return s.schedule.Submit(j)
}

// Cancel withdraws the jobs of a chat posted under a key. Cancel returns when none of
// the jobs runs any more, or when ctx ends, and with ctx the whole adapter.
func (s *Sender) Cancel(ctx context.Context, chat int64, key string) {
	_ = s.schedule.Cancel(ctx, chat, key)
}

// Call makes a call of the API within its time limit, unless the adapter is ending.
func (s *Sender) Call(ctx context.Context, do func(context.Context) error) error {
	return s.callWithin(ctx, botapi.CallTimeout, do)
}

func (s *Sender) callWithin(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	if !s.begin() {
		return ErrClosing
	}
	defer s.end()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx)
}

func (s *Sender) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls++
	return true
}

func (s *Sender) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	if s.closed && s.calls == 0 {
		close(s.drained)
	}
}

// Drain refuses further calls and waits briefly for the calls in flight.
func (s *Sender) Drain() {
	s.mu.Lock()
	s.closed, s.drained = true, make(chan struct{})
	if s.calls == 0 {
		close(s.drained)
	}
	s.mu.Unlock()
	t := time.NewTimer(drainTime)
	defer t.Stop()
	select {
	case <-s.drained:
	case <-t.C:
	}
}

// Typing shows briefly that the bot is typing.
func (s *Sender) Typing(to chats.Address) {
	s.Post(throttle.Job{
		Chat: to.Chat, Group: to.Group(), Class: throttle.Hint, Key: "typing",
		Do: func(ctx context.Context, _ throttle.Try) error {
			return s.Call(ctx, func(ctx context.Context) error {
				_, err := s.Client.SendChatAction(ctx, &bot.SendChatActionParams{
					ChatID: to.Chat, MessageThreadID: to.Thread, Action: models.ChatActionTyping,
				})
				return err
			})
		},
	})
}

// TypeUntil shows that the bot is typing until a call of end or the end of ctx.
func (s *Sender) TypeUntil(ctx context.Context, to chats.Address) (end func()) {
	ctx, end = context.WithCancel(ctx)
	s.work.Go(func(context.Context) { // ends by end, or with ctx
		for ; ctx.Err() == nil; tasks.Pause(ctx, TypingEvery) {
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

// Is reports true for ErrUndeliverable.
func (undeliverable) Is(target error) bool { return target == ErrUndeliverable }

// Unwrap returns the reason.
func (u undeliverable) Unwrap() error { return u.error }

// Permanent reports whether no further attempt can succeed after an error.
func Permanent(err error) bool { return classify(err).Kind == throttle.Permanent }

// Interrupted reports whether the adapter ended first: the next process continues.
func Interrupted(err error) bool {
	return errors.Is(err, throttle.ErrClosed) || errors.Is(err, ErrClosing)
}

// classify translates the failure of a call for the schedule.
func classify(err error) throttle.Verdict {
	tooMany, moved := (*bot.TooManyRequestsError)(nil), (*bot.MigrateError)(nil)
	switch {
	case errors.As(err, &tooMany):
		return throttle.Verdict{Kind: throttle.Wait, For: time.Duration(tooMany.RetryAfter) * time.Second}
	case errors.As(err, &moved):
		return throttle.Verdict{Kind: throttle.Retry} // to the new chat
	case errors.Is(err, ErrUndeliverable), errors.Is(err, tasks.ErrPanic), errors.Is(err, bot.ErrorForbidden), errors.Is(err, bot.ErrorBadRequest):
		return throttle.Verdict{Kind: throttle.Permanent}
	case errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound), errors.Is(err, ErrClosing): // the token is refused
		return throttle.Verdict{Kind: throttle.Retry, Global: true}
	}
	return throttle.Verdict{Kind: throttle.Retry, Global: true, Ambiguous: !botapi.NeverSent(err)}
}
