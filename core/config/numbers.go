package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// A span is a range of whole numbers from low to high, both included.
type span struct{ low, high int64 }

// decode reads a decimal whole number of the span.
func (s span) decode(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is out of range", quoted(text))
	case err != nil:
		return 0, fmt.Errorf("%s is not a whole number", quoted(text))
	case n < s.low || n > s.high:
		return 0, fmt.Errorf("%s is out of range", quoted(text))
	}
	return n, nil
}

func (s span) String() string { return fmt.Sprintf("%d to %d", s.low, s.high) }

// A Limit is a number of at least 1 that something must not exceed.
type Limit int

var limits = span{1, 1_000_000}

// Decode reads a limit.
func (l *Limit) Decode(text string) error {
	n, err := limits.decode(text)
	*l = Limit(n)
	return err
}

// Accepted describes limits.
func (*Limit) Accepted() string { return limits.String() }

// An OptionalLimit is a [Limit], or 0 for none that is given.
type OptionalLimit int

var optionalLimits = span{0, 1_000_000}

// Decode reads a limit or 0.
func (l *OptionalLimit) Decode(text string) error {
	n, err := optionalLimits.decode(text)
	*l = OptionalLimit(n)
	return err
}

// Accepted describes limits and 0.
func (*OptionalLimit) Accepted() string { return optionalLimits.String() }

// A SpareCount is a number of sessions that are kept ready.
type SpareCount int

var spareCounts = span{0, 64}

// Decode reads a number of spare sessions.
func (s *SpareCount) Decode(text string) error {
	n, err := spareCounts.decode(text)
	*s = SpareCount(n)
	return err
}

// Accepted describes numbers of spare sessions.
func (*SpareCount) Accepted() string { return spareCounts.String() }

// A SnapshotCount is a number of snapshots that are kept.
type SnapshotCount int

var snapshotCounts = span{1, 10_000}

// Decode reads a number of snapshots.
func (s *SnapshotCount) Decode(text string) error {
	n, err := snapshotCounts.decode(text)
	*s = SnapshotCount(n)
	return err
}

// Accepted describes numbers of snapshots.
func (*SnapshotCount) Accepted() string { return snapshotCounts.String() }

// A MessageCount is a number of chat messages that make one answer.
type MessageCount int

var messageCounts = span{1, 1000}

// Decode reads a number of messages.
func (m *MessageCount) Decode(text string) error {
	n, err := messageCounts.decode(text)
	*m = MessageCount(n)
	return err
}

// Accepted describes numbers of messages.
func (*MessageCount) Accepted() string { return messageCounts.String() }

// Bytes is the size of a request body, in bytes.
type Bytes int64

const (
	// minBytes leaves room for a JSON object around a short text.
	minBytes = 1 << 10
	// maxBytes keeps a body within a line of claude's output. Lines are read up to 128 MiB.
	maxBytes = 64 << 20
)

// Decode reads a number of bytes, with or without a unit, from minBytes to maxBytes.
func (b *Bytes) Decode(text string) error {
	n, err := humanize.ParseBytes(text)
	switch {
	case err != nil:
		return fmt.Errorf("%s is not a size", quoted(text))
	case n < minBytes || n > maxBytes:
		return fmt.Errorf("%s is out of range", quoted(text))
	}
	*b = Bytes(n)
	return nil
}

// Accepted describes sizes.
func (*Bytes) Accepted() string { return "1KiB to 64MiB, as 32MiB, 10MB or 1048576" }

// USD is an amount of US dollars that may be spent; 0 means any amount.
type USD float64

// maxUSD catches a slipped digit; nothing depends on the limit.
const maxUSD = 1_000_000

// Decode reads an amount from 0 to maxUSD, in decimals without an exponent.
func (u *USD) Decode(text string) error {
	amount, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || strings.Trim(text, "0123456789.") != "":
		return fmt.Errorf("%s is not an amount", quoted(text))
	case amount > maxUSD:
		return fmt.Errorf("%s is out of range", quoted(text))
	}
	*u = USD(amount)
	return nil
}

// Accepted describes amounts.
func (*USD) Accepted() string {
	return "US dollars from 0 to 1000000, as 5 or 0.50, where 0 means any amount"
}
