package throttle

import "time"

// A bucket holds the tokens of a Limit, stored as the moment when the bucket is full
// again. The zero bucket is full.
type bucket struct{ full time.Time }

// at returns the earliest moment when taking a token leaves at least spare tokens. A
// bucket of a single token has none to spare.
func (b *bucket) at(l Limit, spare int) time.Time {
	missing := max(0, l.Burst-1-spare)
	if spare >= l.Burst {
		missing = max(0, l.Burst-1)
	}
	return b.full.Add(-time.Duration(missing) * l.Every)
}

func (b *bucket) take(l Limit, now time.Time) { b.full = later(b.full, now).Add(l.Every) }

// drain leaves a single token at a moment: a burst after a pause requested by Telegram
// would lead to the next pause.
func (b *bucket) drain(l Limit, until time.Time) {
	b.full = later(b.full, until.Add(time.Duration(max(0, l.Burst-1))*l.Every))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sooner returns the earlier of two moments. A zero moment does not count.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
