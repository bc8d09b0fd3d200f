package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// An eventLog keeps claude's events until a daemon acknowledges them: in memory up to
// memLimit bytes, then in a spool file, in all up to limit bytes.
//
// From half of the limit on, partial messages are dropped: a whole message follows each. At
// the limit append blocks until an acknowledgement, and with append the reading of claude's
// output. A spool file that cannot be written has the same effect, and is tried again every
// RetryInterval.
type eventLog struct {
	memLimit, limit int64
	create          func() (*os.File, error) // makes the spool file
	onBackpressure  func()                   // called before append waits, and for each further notice: see ackRequest
	drained         chan struct{}            // closed when the last entry is acknowledged

	mu      sync.Mutex
	changed *sync.Cond
	entries []storedEntry // not acknowledged, ascending
	working []string      // turns that claude had begun, and not finished, before the first entry
	next    uint64        // sequence number of the next entry
	mem     int64         // bytes in memory
	chunk   []byte        // the newest of these bytes, used again once no entry is kept
	spool   *os.File
	spooled int64 // end of the spool file
	onDisk  int   // entries in the spool file
	dropped uint64
	closed  bool
	ended   bool          // the last entry was added
	waiting *backpressure // why append waits; nil while append does not wait
	notices uint64        // number of notices about the waiting
}

// A backpressure is the reason why append waits.
type backpressure struct {
	since time.Time
	err   error // the last failure to write the spool file; nil before the failure has lasted for RetryInterval, and at the limit
}

// A storedEntry is one encoded entry: in data, or in the spool file.
type storedEntry struct {
	seq  uint64
	data []byte
	off  int64
	n    int32
	step *step // reported by the entry; nil without a step
}

// A step is the beginning or the end of claude's work on a turn.
type step struct {
	turn string
	done bool
}

func stepOf(ev *claude.Event) *step {
	turn, phase := ev.Lifecycle()
	if !phase.Done() && phase != core.PhaseStarted {
		return nil
	}
	return &step{turn: turn, done: phase.Done()}
}

func (s *step) apply(working []string) []string {
	working = slices.DeleteFunc(working, func(turn string) bool { return turn == s.turn })
	if !s.done {
		working = append(working, s.turn)
	}
	return working
}

var (
	errLogClosed = errors.New("event log is closed")
	errLogFull   = errors.New("event log is full")
)

func newEventLog(memLimit, limit int64, create func() (*os.File, error), full func()) *eventLog {
	l := &eventLog{memLimit: memLimit, limit: limit, create: create, onBackpressure: full, drained: make(chan struct{}), next: 1}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// append adds the entry that encode appends for a sequence number, and the step that the entry
// tells, if any. It blocks while the log is full, but drops a partial message instead.
func (l *eventLog) append(partial bool, s *step, encode func(b []byte, seq uint64) []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if partial && l.used() >= l.limit/2 {
		l.dropped++
		return nil
	}
	defer func() { l.waiting = nil }()
	for !l.closed {
		data, err := l.encode(encode), errLogFull
		if len(l.entries) == 0 || l.used()+int64(len(data)) <= l.limit {
			err = l.put(data, s)
		}
		switch {
		case err == nil:
			return nil
		case partial && !errors.Is(err, errLogFull):
			l.dropped++
			return nil
		}
		l.wait(err)
	}
	return errLogClosed
}

// wait returns when an entry may fit that did not fit before. The first call, and the first
// after a lasting failure to write, only give notice: room may appear meanwhile.
func (l *eventLog) wait(err error) {
	now := time.Now()
	switch {
	case l.waiting == nil:
		l.waiting = &backpressure{since: now}
	case l.waiting.err == nil && !errors.Is(err, errLogFull) && now.Sub(l.waiting.since) >= protocol.RetryInterval:
		l.waiting.err = err
	default:
		again := time.AfterFunc(protocol.RetryInterval, l.changed.Broadcast)
		defer again.Stop()
		l.changed.Wait() // for an ack, the end, or the next try
		return
	}
	l.notices++
	l.mu.Unlock()
	l.onBackpressure()
	l.mu.Lock()
}

// ackRequest reports whether append waits without the daemon's knowledge, and for which
// failure. nth is the last notice sent to the daemon; the first result replaces nth.
func (l *eventLog) ackRequest(nth uint64) (_ uint64, waits bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil || nth == l.notices {
		return nth, false, nil
	}
	return l.notices, true, l.waiting.err
}

func (l *eventLog) used() int64 { return l.mem + l.spooled }

// put stores the entry in memory or, when memory is full, in the spool file. The next write
// overwrites the rest of a failed one.
func (l *eventLog) put(data []byte, s *step) error {
	if l.mem+int64(len(data)) <= l.memLimit || len(l.entries) == 0 {
		l.keep(storedEntry{data: data, n: int32(len(data)), step: s})
		return nil
	}
	if l.spool == nil {
		f, err := l.create()
		if err != nil {
			return fmt.Errorf("make spool file: %w", err)
		}
		l.spool = f
	}
	if _, err := l.spool.WriteAt(data, l.spooled); err != nil {
		return fmt.Errorf("write spool file: %w", err)
	}
	l.keep(storedEntry{off: l.spooled, n: int32(len(data)), step: s})
	return nil
}

// A chunk of chunkBytes gets entries until less than minRoom is left, more than most of them
// take.
const (
	chunkBytes = 8 << 10
	minRoom    = 1 << 10
)

// encode returns the next entry in the free part of the chunk, which keep gives to the entry.
func (l *eventLog) encode(encode func(b []byte, seq uint64) []byte) []byte {
	if cap(l.chunk)-len(l.chunk) < minRoom {
		l.chunk = make([]byte, 0, chunkBytes)
	}
	used := len(l.chunk)
	grown := encode(l.chunk, l.next)
	l.chunk = grown[:used]
	return grown[used:]
}

func (l *eventLog) keep(e storedEntry) {
	if e.data != nil {
		l.mem += int64(e.n)
		l.chunk = l.chunk[:len(l.chunk)+int(e.n)]
	} else {
		l.spooled += int64(e.n)
		l.onDisk++
	}
	e.seq = l.next
	l.entries = append(l.entries, e)
	l.next++
}

// read appends encoded entries after a sequence number to batch, at least one and about
// most bytes, and returns their last sequence number. Without such entries batch stays as
// it is.
func (l *eventLog) read(batch []byte, after uint64, most int) ([]byte, uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.entries); n == 0 || l.entries[n-1].seq <= after {
		return batch, after, nil
	}
	i := 0
	if first := l.entries[0].seq; after >= first {
		i = int(after - first + 1) // sequence numbers have no gaps
	}
	for ; i < len(l.entries) && (len(batch) == 0 || len(batch)+int(l.entries[i].n) <= most); i++ {
		e := l.entries[i]
		if e.data != nil {
			batch = append(batch, e.data...)
		} else {
			at := len(batch)
			batch = slices.Grow(batch, int(e.n))[:at+int(e.n)]
			if _, err := l.spool.ReadAt(batch[at:], e.off); err != nil {
				return batch, after, fmt.Errorf("read spool file: %w", err)
			}
		}
		after = e.seq
	}
	return batch, after, nil
}

// state describes the log for a new daemon: last is the newest entry, 0 without any; working
// are the turns begun and unfinished before the first kept entry; kept reports whether entries
// are kept.
func (l *eventLog) state() (last uint64, working []string, kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next - 1, slices.Clone(l.working), len(l.entries) > 0
}

func (l *eventLog) ack(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for ; n < len(l.entries) && l.entries[n].seq <= seq; n++ {
		e := l.entries[n]
		if e.data != nil {
			l.mem -= int64(e.n)
		} else {
			l.onDisk--
		}
		if e.step != nil {
			l.working = e.step.apply(l.working)
		}
		l.entries[n] = storedEntry{}
	}
	if n < len(l.entries) {
		l.entries = l.entries[n:]
	} else {
		l.clear()
	}
	if l.onDisk == 0 && l.spooled > 0 {
		l.spooled = 0
		_ = l.spool.Truncate(0) // a failure leaves a larger file than necessary
	}
	if l.ended && n > 0 && len(l.entries) == 0 {
		close(l.drained)
	}
	l.changed.Broadcast()
}

// clear empties the list of entries, and keeps the memory of a usual turn for the next one.
func (l *eventLog) clear() {
	l.entries, l.chunk = l.entries[:0], l.chunk[:0]
	if cap(l.entries) > 64 || cap(l.chunk) > 2*chunkBytes {
		l.entries, l.chunk = nil, nil
	}
}

func (l *eventLog) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// finish adds the last entry, also to a full or closed log, and closes the log.
func (l *eventLog) finish(encode func(b []byte, seq uint64) []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	data := l.encode(encode)
	l.keep(storedEntry{data: data, n: int32(len(data))})
	l.closed, l.ended = true, true
	l.changed.Broadcast()
}

// close ends the log: no entry is added any more, but the kept entries can be read.
func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}

// openSpool makes a file without a name: nothing is left of the file however the host
// ends.
func openSpool(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	if err := os.Remove(path); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("unlink spool: %w", err)
	}
	return f, nil
}
