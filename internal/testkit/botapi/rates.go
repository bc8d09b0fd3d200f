package botapi

import (
	"math"
	"time"
)

// A limit allows so many calls per second, and a burst at once.
type limit struct {
	perSecond float64
	burst     int
}

// The limits that core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
// documents: about 30 messages a second in all, no more than one a second in one chat,
// with short bursts beyond it allowed, and 20 a minute in a group.
//
// How long a burst may be, that edits count, and all about light calls (sendChatAction,
// drafts, answers to taps) is our choice: nothing is documented. So is retry_after, which
// here is the time until one call fits again; Telegram often asks for more.
var (
	overall  = limit{30, 30}
	perChat  = limit{1, 5}
	perLight = limit{5, 20}
)

const groupMinute = 20

// limiter counts calls, protected by the server's lock.
type limiter struct {
	off        bool
	buckets    map[bucketKey]*bucket
	minutes    map[int64][]time.Time // messages in groups
	penalties  map[penalty]time.Time // until when
	violations int
}

type bucketKey struct {
	limit limit
	chat  int64
}

// A penalty holds for a class of calls in a chat, and for one method where there is no
// chat.
type penalty struct {
	chat   int64
	class  class
	method string
}

func penaltyFor(m method, chat int64) penalty {
	if chat == 0 {
		return penalty{method: m.name}
	}
	return penalty{chat: chat, class: m.class}
}

func newLimiter() limiter {
	return limiter{buckets: map[bucketKey]*bucket{}, minutes: map[int64][]time.Time{}, penalties: map[penalty]time.Time{}}
}

// A bucket is what is used of a burst.
type bucket struct {
	used float64
	at   time.Time
}

// RateViolations returns how many calls came although the time of an earlier retry_after
// was not over.
func (s *Server) RateViolations() int {
	return locked(s, func() int { return s.rate.violations })
}

// limitLocked refuses a call that comes too soon.
func (s *Server) limitLocked(m method, chat int64) error {
	at, of := now(), penaltyFor(m, chat)
	seconds := func(d time.Duration) int { return int(math.Ceil(d.Seconds())) } // never too short
	if left := s.rate.penalties[of].Sub(at); left > 0 {
		s.rate.violations++
		return tooMany(seconds(left))
	}
	c := s.chats[chat]
	wait := s.rate.take(at, m.class, chat, c != nil && c.kind != private)
	if wait <= 0 {
		return nil
	}
	retry := seconds(wait)
	s.rate.penalties[of] = at.Add(time.Duration(retry) * time.Second)
	return tooMany(retry)
}

// take counts a call, or returns how long it should have waited.
func (l *limiter) take(at time.Time, of class, chat int64, inGroup bool) time.Duration {
	switch {
	case l.off || of == free:
		return 0
	case of == light:
		return l.takeOf(perLight, at, chat)
	}
	if wait := l.takeOf(overall, at, 0); wait > 0 {
		return wait
	}
	if inGroup {
		recent := l.minutes[chat]
		for len(recent) > 0 && at.Sub(recent[0]) >= time.Minute {
			recent = recent[1:]
		}
		if len(recent) >= groupMinute {
			return recent[0].Add(time.Minute).Sub(at)
		}
		l.minutes[chat] = append(recent, at)
	}
	return l.takeOf(perChat, at, chat)
}

// takeOf returns 0 if there was room, or how long until there is.
func (l *limiter) takeOf(of limit, at time.Time, chat int64) time.Duration {
	key := bucketKey{of, chat}
	if l.buckets[key] == nil {
		l.buckets[key] = &bucket{}
	}
	b := l.buckets[key]
	b.used, b.at = max(0, b.used-at.Sub(b.at).Seconds()*of.perSecond), at
	if over := b.used + 1 - float64(of.burst); over > 1e-9 {
		return time.Duration(over / of.perSecond * float64(time.Second))
	}
	b.used++
	return 0
}
