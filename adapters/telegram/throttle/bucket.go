package throttle

import "time"

// A bucket holds tokens of a Limit, as the moment at which it is full again.
// Nothing is counted, so nothing has to be topped up. The zero bucket is full.
type bucket struct{ full time.Time }

// at is the moment from which on a token can be taken so that at least spare
// others are left. A bucket of one token has none to spare.
func (b *bucket) at(l Limit, spare int) time.Time {
	missing := max(0, l.Burst-1-spare)
	if spare >= l.Burst {
		missing = max(0, l.Burst-1)
	}
	return b.full.Add(-time.Duration(missing) * l.Every)
}

func (b *bucket) take(l Limit, now time.Time) { b.full = later(b.full, now).Add(l.Every) }

// drain leaves the one token that is there at the moment given. After a wait that
// the other side has named, a burst would be the way into the next one.
func (b *bucket) drain(l Limit, until time.Time) {
	b.full = later(b.full, until.Add(time.Duration(max(0, l.Burst-1))*l.Every))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sooner is the earlier of two moments, of which a zero one is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
