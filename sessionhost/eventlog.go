package sessionhost

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// An eventLog keeps what claude said until it is acknowledged: in memory up to
// memLimit bytes, beyond that in a spool file, in all up to limit bytes.
//
// When half of the limit is used, partial messages are dropped: each is
// contained in the whole message that follows. When all of it is used, append
// blocks until something is acknowledged, and with it claude, whose output is no
// longer read. A full disk counts as the limit.
type eventLog struct {
	memLimit, limit int64
	create          func() (*os.File, error) // makes the spool file
	full            func()                   // told before append waits: readers have to catch up

	mu      sync.Mutex
	changed *sync.Cond
	entries []entry // not acknowledged, ascending
	next    uint64  // sequence number of the next entry
	mem     int64   // bytes in memory
	spool   *os.File
	spooled int64 // end of the spool file
	onDisk  int   // entries in the spool file
	dropped uint64
	closed  bool
}

// An entry is one encoded frame: in data, or in the spool file.
type entry struct {
	seq  uint64
	data []byte
	off  int64
	n    int32
}

var errLogClosed = errors.New("event log is closed")

func newEventLog(memLimit, limit int64, create func() (*os.File, error), full func()) *eventLog {
	l := &eventLog{memLimit: memLimit, limit: limit, create: create, full: full, next: 1}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// append adds an entry, encoded with the sequence number it gets. It blocks
// while the log is full, unless the entry is partial: then it may be dropped.
func (l *eventLog) append(partial bool, encode func(seq uint64) []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if partial && l.used() >= l.limit/2 {
		l.dropped++
		return nil
	}
	data := encode(l.next)
	for told := false; ; told = true {
		switch {
		case l.closed:
			return errLogClosed
		case len(l.entries) == 0 || l.used()+int64(len(data)) <= l.limit:
			if l.put(data) == nil {
				return nil
			}
			if partial {
				l.dropped++
				return nil
			}
		}
		if told {
			l.changed.Wait() // for an ack, or the end
			continue
		}
		l.mu.Unlock()
		l.full()
		l.mu.Lock()
	}
}

func (l *eventLog) used() int64 { return l.mem + l.spooled }

// put stores the entry in memory or, when that is full, in the spool file.
func (l *eventLog) put(data []byte) error {
	e := entry{seq: l.next, n: int32(len(data))}
	if l.mem+int64(len(data)) <= l.memLimit || len(l.entries) == 0 {
		e.data = data
		l.mem += int64(len(data))
	} else {
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
		e.off = l.spooled
		l.spooled += int64(len(data))
		l.onDisk++
	}
	l.entries = append(l.entries, e)
	l.next++
	return nil
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

// ack forgets the entries up to seq.
func (l *eventLog) ack(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.entries) && l.entries[n].seq <= seq {
		if e := l.entries[n]; e.data != nil {
			l.mem -= int64(e.n)
		} else {
			l.onDisk--
		}
		l.entries[n] = entry{}
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

// last returns the sequence number of the newest entry, 0 if there was none.
func (l *eventLog) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next - 1
}

// wakeAll lets whoever is in waitEmpty look at the stop condition again.
func (l *eventLog) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.Broadcast()
}

// close ends the log: nothing is added any more. What it holds can be read.
func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}
