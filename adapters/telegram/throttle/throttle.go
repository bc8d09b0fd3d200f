// Package throttle delays the sends of one bot to keep Telegram's limits. Package throttle
// knows chats, classes and time, and nothing about the contents.
//
//	l := throttle.New(botapi.RetryAfter)
//	err := l.Do(ctx, chat, throttle.Durable, send)
//
// Do blocks until the limits have room, and then sends. Chats take turns: the send that
// has waited longest begins first, Durable before Progress. Telegram's pause after too
// many requests holds the chat for exactly the named time.
//
// Do sends once: the caller retries, and stores messages that must arrive. The limiter stores
// nothing; after a restart the caller restores the pause of a chat with Hold.
package throttle

import (
	"errors"
	"time"

	"bareclaw/internal/wait"
)

// A Class says how much a send matters.
type Class uint8

// The classes.
const (
	// Durable is for answers, questions and pushes. A chat has a single Durable send in
	// flight.
	Durable Class = iota
	// Progress is for the state of a turn. Progress leaves room for Durable sends, and
	// waits while a Durable send of the chat waits or is in flight. A chat has a single
	// Progress in flight.
	Progress
	// Hint is for typing actions and drafts: a Hint is dropped unless possible at once.
	Hint

	classes = Hint + 1
)

// ErrDropped means that the limits had no room for a Hint.
var ErrDropped = errors.New("dropped because of limits")

// limits bound the rate of sending. The limits hold in any second or minute, and not only
// on average: core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
type limits struct {
	global   limit // all requests together: about 30 messages a second
	private  limit // a private chat: one message a second, with short bursts beyond
	group    limit // a group: 20 messages a minute
	hint     limit // chat actions and drafts of a chat, without a published limit
	inFlight int   // requests at once; Progress and Hint have no more than half
}

var telegramLimits = limits{
	global:   limit{10, time.Second / 20},
	private:  limit{3, time.Second},
	group:    limit{5, 4 * time.Second},
	hint:     limit{3, time.Second},
	inFlight: 16,
}

// A limit allows burst sends at once, and one more send per period every: in any span of time
// T no more than burst + T/every.
type limit struct {
	burst int
	every time.Duration
}

// A bucket holds the tokens of a limit, stored as the moment when the bucket is full
// again. The zero bucket is full.
type bucket struct{ full time.Time }

// at returns the earliest moment when taking a token leaves at least spare tokens. A
// bucket of a single token has none to spare.
func (b *bucket) at(l limit, spare int) time.Time {
	missing := l.burst - 1
	if spare < l.burst {
		missing -= spare
	}
	return b.full.Add(-time.Duration(missing) * l.every)
}

func (b *bucket) take(l limit, now time.Time) { b.full = wait.Latest(b.full, now).Add(l.every) }

// drain leaves a single token at a moment: a burst after a pause requested by Telegram
// would lead to the next pause.
func (b *bucket) drain(l limit, until time.Time) {
	b.full = wait.Latest(b.full, until.Add(time.Duration(l.burst-1)*l.every))
}

// NewBackoff returns the pauses between attempts that Telegram or the network fails: from a second
// to most.
func NewBackoff(most time.Duration) *wait.Backoff {
	return &wait.Backoff{First: time.Second, Most: most, Jitter: 0.25}
}
