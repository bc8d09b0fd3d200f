package botapi

import (
	"math"
	"time"
)

// rates are the limits that lead to 429. A zero is no limit. Light calls are
// sendChatAction, drafts, reactions and answers to taps; all that puts or
// changes a message is a message here, edits too.
type rates struct {
	Overall      float64 // messages per second of the bot
	OverallBurst int     // that many at once
	Chat         float64 // messages per second in one chat
	ChatBurst    int
	GroupMinute  int     // messages in any minute in one group
	Light        float64 // light calls per second in one chat
	LightBurst   int
}

// defaultRates are what core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
// documents: about 30 messages a second in all, no more than one a second in one
// chat, with short bursts beyond it allowed, and 20 a minute in a group.
//
// How long a burst may be, that edits count, and all about light calls is our
// choice: nothing is documented. So is retry_after, which here is the time until
// one call fits again; Telegram often asks for more.
func defaultRates() rates {
	return rates{Overall: 30, OverallBurst: 30, Chat: 1, ChatBurst: 5, GroupMinute: 20, Light: 5, LightBurst: 20}
}

// limiter counts calls, protected by the server's lock.
type limiter struct {
	rates      rates
	overall    bucket
	chats      map[int64]*bucket
	light      map[int64]*bucket
	minutes    map[int64][]time.Time // messages in groups
	penalties  map[penalty]time.Time // until when
	violations int
}

// A penalty holds for a class of calls in a chat, and for one method where
// there is no chat.
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

func newLimiter(rates rates) limiter {
	return limiter{rates: rates, chats: map[int64]*bucket{}, light: map[int64]*bucket{}, minutes: map[int64][]time.Time{}, penalties: map[penalty]time.Time{}}
}

// A bucket gives so many a second and saves up to the burst.
type bucket struct {
	used float64 // of the burst
	at   time.Time
}

// take returns 0 if there was one, or how long until there is.
func (b *bucket) take(now time.Time, perSecond float64, burst int) time.Duration {
	if perSecond <= 0 {
		return 0
	}
	b.used = max(0, b.used-now.Sub(b.at).Seconds()*perSecond)
	b.at = now
	if over := b.used + 1 - float64(max(burst, 1)); over > 1e-9 {
		return time.Duration(over / perSecond * float64(time.Second))
	}
	b.used++
	return 0
}

func bucketOf(buckets map[int64]*bucket, chat int64) *bucket {
	if buckets[chat] == nil {
		buckets[chat] = &bucket{}
	}
	return buckets[chat]
}

// RateViolations returns how many calls came although the time of an earlier
// retry_after was not over.
func (s *Server) RateViolations() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rate.violations
}

// limitLocked refuses a call that comes too soon.
func (s *Server) limitLocked(r *request) *apiError {
	now, of := s.opts.now(), penaltyFor(r.method, r.call.Chat)
	if left := s.rate.penalties[of].Sub(now); left > 0 {
		s.rate.violations++
		return tooMany(seconds(left))
	}
	wait := s.rate.take(now, r.method.class, r.call.Chat, s.isGroupLocked(r.call.Chat))
	if wait <= 0 {
		return nil
	}
	retry := seconds(wait)
	s.rate.penalties[of] = now.Add(time.Duration(retry) * time.Second)
	return tooMany(retry)
}

func (s *Server) isGroupLocked(id int64) bool {
	c := s.chats[id]
	return c != nil && c.kind != private
}

// take counts a call, or returns how long it should have waited.
func (l *limiter) take(now time.Time, of class, chat int64, inGroup bool) time.Duration {
	switch of {
	case light:
		return bucketOf(l.light, chat).take(now, l.rates.Light, l.rates.LightBurst)
	case message:
		if wait := l.overall.take(now, l.rates.Overall, l.rates.OverallBurst); wait > 0 {
			return wait
		}
		if inGroup {
			if wait := l.takeMinute(now, chat); wait > 0 {
				return wait
			}
		}
		return bucketOf(l.chats, chat).take(now, l.rates.Chat, l.rates.ChatBurst)
	}
	return 0
}

func (l *limiter) takeMinute(now time.Time, chat int64) time.Duration {
	if l.rates.GroupMinute <= 0 {
		return 0
	}
	recent := l.minutes[chat]
	for len(recent) > 0 && now.Sub(recent[0]) >= time.Minute {
		recent = recent[1:]
	}
	if len(recent) >= l.rates.GroupMinute {
		l.minutes[chat] = recent
		return recent[0].Add(time.Minute).Sub(now)
	}
	l.minutes[chat] = append(recent, now)
	return 0
}

// seconds rounds up: retry_after is never too short.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
