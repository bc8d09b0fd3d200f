package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"bareclaw/sessionhost/protocol"
)

// An eventLog keeps what claude said until it is acknowledged: in memory up to
// memLimit bytes, beyond that in a spool file, in all up to limit bytes.
//
// When half of the limit is used, partial messages are dropped: each is
// contained in the whole message that follows. When all of it is used, append
// blocks until something is acknowledged, and with it claude, whose output is no
// longer read. A spool file that cannot be written counts as the limit, and is tried
// again every retryEvery.
type eventLog struct {
	memLimit, limit int64
	create          func() (*os.File, error) // makes the spool file
	onBackpressure  func()                   // told before append waits, and when there is more to say of it: see plea

	mu      sync.Mutex
	changed *sync.Cond
	entries []storedEntry // not acknowledged, ascending
	started startedTurns
	reader  any    // whose acknowledgements count
	newest  int64  // its generation
	next    uint64 // sequence number of the next entry
	mem     int64  // bytes in memory
	spool   *os.File
	spooled int64 // end of the spool file
	onDisk  int   // entries in the spool file
	dropped uint64
	closed  bool
	waiting *backpressure // why append waits; nil when it does not
	notices uint64        // counts what there is to say of that
}

// A lack is why an entry cannot be kept yet.
type backpressure struct {
	since time.Time
	err   error // what writing the spool file last met; nil until that has lasted for retryEvery, and at the limit
}

// An entry is one encoded frame: in data, or in the spool file.
type storedEntry struct {
	seq  uint64
	data []byte
	off  int64
	n    int32
}

var (
	errLogClosed = errors.New("event log is closed")
	errLogFull   = errors.New("event log is full")
)

func newEventLog(memLimit, limit int64, create func() (*os.File, error), full func()) *eventLog {
	l := &eventLog{memLimit: memLimit, limit: limit, create: create, onBackpressure: full, next: 1}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// append adds an entry, encoded with the sequence number it gets. It blocks
// while the log is full, unless the entry is partial: then it may be dropped.
func (l *eventLog) append(partial bool, encode func(seq uint64) []byte) error {
	return l.add(partial, nil, encode)
}

// appendStep adds an entry that tells a step of claude's work.
func (l *eventLog) appendStep(s step, encode func(seq uint64) []byte) error {
	return l.add(false, &s, encode)
}

func (l *eventLog) add(partial bool, s *step, encode func(seq uint64) []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if partial && l.used() >= l.limit/2 {
		l.dropped++
		return nil
	}
	seq := l.next
	data := encode(seq)
	defer func() { l.waiting = nil }()
	for !l.closed {
		if seq != l.next { // another one was added while this one waited
			seq = l.next
			data = encode(seq)
		}
		err := errLogFull
		if len(l.entries) == 0 || l.used()+int64(len(data)) <= l.limit {
			err = l.put(data)
		}
		switch {
		case err == nil:
			if s != nil {
				s.seq = l.next - 1
				l.started.steps = append(l.started.steps, *s)
			}
			return nil
		case partial && !errors.Is(err, errLogFull):
			l.dropped++
			return nil
		}
		l.wait(err)
	}
	return errLogClosed
}

// wait returns when it may be that an entry can be kept that could not be, for that
// reason. At first, and when the file could not be written for a while, it only says so:
// what it waits for may happen meanwhile.
func (l *eventLog) wait(err error) {
	now := time.Now()
	switch {
	case l.waiting == nil:
		l.waiting = &backpressure{since: now}
	case l.waiting.err == nil && !errors.Is(err, errLogFull) && now.Sub(l.waiting.since) >= protocol.RetryInterval:
		l.waiting.err = err
	default:
		again := time.AfterFunc(protocol.RetryInterval, l.wakeAll)
		defer again.Stop()
		l.changed.Wait() // for an ack, the end, or the next try
		return
	}
	l.notices++
	l.mu.Unlock()
	l.onBackpressure()
	l.mu.Lock()
}

// plea returns why append waits for whoever has all entries and was told nothing after
// nth, and what it is told by that. The reader has to acknowledge what it can.
func (l *eventLog) ackRequest(nth uint64) (_ uint64, waits bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil || nth == l.notices {
		return nth, false, nil
	}
	return l.notices, true, l.waiting.err
}

func (l *eventLog) used() int64 { return l.mem + l.spooled }

// put stores the entry in memory or, when that is full, in the spool file. What a write
// that failed has left there is overwritten by the next one.
func (l *eventLog) put(data []byte) error {
	if l.mem+int64(len(data)) <= l.memLimit || len(l.entries) == 0 {
		l.keep(storedEntry{data: data, n: int32(len(data))})
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
	l.keep(storedEntry{off: l.spooled, n: int32(len(data))})
	return nil
}

// keep counts an entry that is stored.
func (l *eventLog) keep(e storedEntry) {
	if e.data != nil {
		l.mem += int64(e.n)
	} else {
		l.spooled += int64(e.n)
		l.onDisk++
	}
	e.seq = l.next
	l.entries = append(l.entries, e)
	l.next++
}

// read appends to batch the encoded entries after a sequence number, at least one
// and at most about most bytes, and returns the last sequence number among them.
// If there are none it appends nothing.
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

// attach makes a daemon the one whose acknowledgements count, instead of an older one,
// whose last ones may still be on their way: what is kept now is kept for it. last is the
// newest entry, 0 if there was none, working are the turns that claude had begun,
// and was not done with, before the first entry that is kept, and kept says whether
// there is one: all up to last follow then.
func (l *eventLog) attach(reader any, generation int64) (last uint64, working []string, kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if generation >= l.newest {
		l.reader, l.newest = reader, generation
	}
	return l.next - 1, slices.Clone(l.started.before), len(l.entries) > 0
}

// ack forgets the entries up to seq, if it is the attached daemon that has them.
func (l *eventLog) ack(reader any, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reader != l.reader {
		return
	}
	l.started.apply(seq)
	n := 0
	for n < len(l.entries) && l.entries[n].seq <= seq {
		if e := l.entries[n]; e.data != nil {
			l.mem -= int64(e.n)
		} else {
			l.onDisk--
		}
		l.entries[n] = storedEntry{}
		n++
	}
	if l.entries = l.entries[n:]; len(l.entries) == 0 {
		l.entries = nil // also gives back the room of a long turn
	}
	if l.onDisk == 0 && l.spooled > 0 {
		l.spooled = 0
		_ = l.spool.Truncate(0) // a failure leaves the file larger than it need be
	}
	l.changed.Broadcast()
}

// waitEmpty returns when everything is acknowledged, or stop says so. stop is
// looked at again after wakeAll; it must not use the log.
func (l *eventLog) waitEmpty(stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.entries) > 0 && !stop() {
		l.changed.Wait()
	}
}

// length returns how many entries are not acknowledged.
func (l *eventLog) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// wakeAll lets whoever is in waitEmpty look at the stop condition again.
func (l *eventLog) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.Broadcast()
}

// finish adds the last entry, for which there is always room, also in a log that is
// closed, and closes the log.
func (l *eventLog) finish(encode func(seq uint64) []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	data := encode(l.next)
	l.keep(storedEntry{data: data, n: int32(len(data))})
	l.closed = true
	l.changed.Broadcast()
}

// close ends the log: nothing is added any more. What it holds can be read.
func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}
