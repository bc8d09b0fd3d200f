package throttle

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"time"
)

// A Limit allows Burst jobs at once and another job each Every: in any span of time T no
// more than Burst + T/Every. A zero Limit means the default.
type Limit struct {
	Burst int
	Every time.Duration
}

// Limits bound the rate of sending. The defaults stay within
// core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this in any second
// or minute and not only on average.
type Limits struct {
	// Global is for all requests together: about 30 messages a second. Default:
	// 10 at once, then 20 a second, which is 30 in any second.
	Global Limit
	// Private is for one private chat: one message a second, with short bursts beyond
	// the rate allowed. Default: 3 at once, then one a second.
	Private Limit
	// Group is for one group: 20 messages a minute. Default: 5 at once, then 15 a
	// minute, which is 20 in any minute.
	Group Limit
	// Hint is for chat actions and drafts of one chat, without a published limit; Hints
	// do not count as messages. Default: 3 at once, then one a second.
	Hint Limit
}

// Bounds limit the retries of a failing job: after Tries tries, or at age Age, whichever
// comes first, the job is abandoned; 0 is no bound. Each job is tried once, and a
// verdict of Wait does not count as a failure.
type Bounds struct {
	Tries int
	Age   time.Duration
}

// Options hold the settings of a Scheduler. Only Classify is required.
type Options struct {
	// Classify judges an error of Job.Do. The scheduler calls Classify on several
	// goroutines.
	Classify func(error) Verdict
	Limits   Limits
	// InFlight is how many jobs may be in flight at once, default 16. Progress and Hint
	// have no more than half.
	InFlight int
	// MaxProgress is how many Progress jobs may wait for one chat, default 32. A further
	// job replaces the oldest.
	MaxProgress int
	// FirstDelay and MostDelay bound the delay between two tries, which doubles from
	// FirstDelay to MostDelay: default 1 s and 1 min.
	FirstDelay, MostDelay time.Duration
	// Durable bounds durable jobs, default 24 h and any number of tries.
	Durable Bounds
	// Random returns numbers in [0, 1) to vary delays. The scheduler calls Random on a
	// single goroutine at a time. Default: math/rand.
	Random func() float64
	Log    *slog.Logger // default: none
}

func (o Options) withDefaults() Options {
	o.Limits.Global = cmp.Or(o.Limits.Global, Limit{Burst: 10, Every: time.Second / 20})
	o.Limits.Private = cmp.Or(o.Limits.Private, Limit{Burst: 3, Every: time.Second})
	o.Limits.Group = cmp.Or(o.Limits.Group, Limit{Burst: 5, Every: 4 * time.Second})
	o.Limits.Hint = cmp.Or(o.Limits.Hint, Limit{Burst: 3, Every: time.Second})
	o.InFlight = cmp.Or(o.InFlight, 16)
	o.MaxProgress = cmp.Or(o.MaxProgress, 32)
	o.FirstDelay = cmp.Or(o.FirstDelay, time.Second)
	o.MostDelay = cmp.Or(o.MostDelay, time.Minute)
	if o.Durable == (Bounds{}) {
		o.Durable.Age = 24 * time.Hour
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// delay returns the delay after the given number of failures in a row, at least one. A
// random reduction of up to a quarter keeps jobs that failed together from being retried
// together.
func (o *Options) delay(failures int) time.Duration {
	d := o.FirstDelay
	for range failures - 1 {
		if d >= o.MostDelay {
			break
		}
		d *= 2
	}
	d = min(d, o.MostDelay)
	return max(o.FirstDelay, d-time.Duration(float64(d)/4*o.Random()))
}

// reached reports whether a job is abandoned after the given number of tries, or at the
// given age.
func (b Bounds) reached(tried int, age time.Duration) bool {
	return b.Tries > 0 && tried >= b.Tries || b.Age > 0 && age >= b.Age
}
