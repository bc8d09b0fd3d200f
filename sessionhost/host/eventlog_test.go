package host

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// entryOf returns what encodes an entry of n bytes.
func entryOf(n int) func([]byte, uint64) []byte {
	return func(b []byte, seq uint64) []byte {
		entry := bytes.Repeat([]byte{'.'}, n)
		copy(entry, fmt.Sprintf("%d ", seq))
		entry[n-1] = '\n'
		return append(b, entry...)
	}
}

// nobody reads a log when it is full.
func nobody() {}

// spoolIn returns what makes a spool file, counting how often.
func spoolIn(t *testing.T) (create func() (*os.File, error), made func() int) {
	t.Helper()
	n := 0
	path := filepath.Join(t.TempDir(), "spool")
	return func() (*os.File, error) { n++; return openSpool(path) }, func() int { return n }
}

// numbers returns the sequence numbers in a batch.
func numbers(t *testing.T, batch []byte) []uint64 {
	t.Helper()
	var all []uint64
	for line := range bytes.Lines(batch) {
		var seq uint64
		if _, err := fmt.Sscanf(string(line), "%d", &seq); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, seq)
	}
	return all
}

func mustAppend(t *testing.T, l *eventLog, partial bool, n int) {
	t.Helper()
	check.OK(t, l.append(partial, nil, entryOf(n)))
}

// appending begins to append an entry of n bytes, which waits for room, in a bubble.
func appending(l *eventLog, n int) (appended chan error) {
	appended = make(chan error, 1)
	go func() { appended <- l.append(false, nil, entryOf(n)) }() // ends with the test
	synctest.Wait()
	return appended
}

// readAll returns the numbers of all entries after seq that are there.
func readAll(t *testing.T, l *eventLog, after uint64) []uint64 {
	t.Helper()
	batch, _, err := l.read(nil, after, 1<<30)
	check.OK(t, err)
	return numbers(t, batch)
}

func consecutive(t *testing.T, got []uint64, from uint64, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%d entries, want %d", len(got), n)
	}
	for i, seq := range got {
		if seq != from+uint64(i) {
			t.Fatalf("entry %d has number %d, want %d", i, seq, from+uint64(i))
		}
	}
}

func TestEventLogInMemory(t *testing.T) {
	t.Parallel()
	create, made := spoolIn(t)
	l := newEventLog(1000, 10000, create, nobody)
	for range 10 {
		mustAppend(t, l, false, 100)
	}
	consecutive(t, readAll(t, l, 0), 1, 10)
	consecutive(t, readAll(t, l, 7), 8, 3)
	l.ack(4)
	consecutive(t, readAll(t, l, 0), 5, 6) // what is acknowledged is not said again
	batch, last, err := l.read(nil, 4, 250)
	if err != nil || last != 6 {
		t.Errorf("a batch of 250 bytes ends with entry %d (%v), want 6", last, err)
	}
	consecutive(t, numbers(t, batch), 5, 2)
	if _, last, err = l.read(nil, 4, 1); err != nil || last != 5 {
		t.Errorf("a batch of 1 byte ends with entry %d (%v), want 5: one entry is always in it", last, err)
	}
	if made() != 0 {
		t.Error("a spool file was made")
	}
}

func TestEventLogSpills(t *testing.T) {
	t.Parallel()
	create, made := spoolIn(t)
	l := newEventLog(1000, 1<<20, create, nobody)
	for range 1000 {
		mustAppend(t, l, false, 100)
	}
	if made() != 1 {
		t.Fatalf("%d spool files were made, want 1", made())
	}
	if l.mem > 1000 || l.spooled != 99_000 {
		t.Errorf("%d bytes are in memory and %d in the file", l.mem, l.spooled)
	}
	consecutive(t, readAll(t, l, 0), 1, 1000)
	consecutive(t, readAll(t, l, 500), 501, 500)
	l.ack(5) // room in memory, while the file is not empty
	for range 10 {
		mustAppend(t, l, false, 100)
	}
	consecutive(t, readAll(t, l, 5), 6, 1005)
	l.ack(1010)
	if st, err := l.spool.Stat(); err != nil || st.Size() != 0 || l.used() != 0 {
		t.Errorf("after the last acknowledgement the file has %d bytes (%v), and %d are in use", st.Size(), err, l.used())
	}
	for range 100 {
		mustAppend(t, l, false, 100)
	}
	consecutive(t, readAll(t, l, 1010), 1011, 100)
	if made() != 1 {
		t.Error("another spool file was made")
	}
}

func TestEventLogDropsPartialMessages(t *testing.T) {
	t.Parallel()
	create, _ := spoolIn(t)
	l := newEventLog(1000, 2000, create, nobody)
	for range 15 {
		mustAppend(t, l, true, 100)
	}
	if l.dropped != 5 {
		t.Errorf("%d were dropped, want 5: those beyond half of the limit", l.dropped)
	}
	mustAppend(t, l, false, 100) // a whole one still has room
	consecutive(t, readAll(t, l, 0), 1, 11)
	l.ack(5)
	mustAppend(t, l, true, 100)
	consecutive(t, readAll(t, l, 5), 6, 7)
}

// TestEventLogBlocksWhenFull fills a log: the writer waits, and goes on when
// something is acknowledged.
func TestEventLogBlocksWhenFull(t *testing.T) {
	t.Parallel()
	create, _ := spoolIn(t)
	synctest.Test(t, func(t *testing.T) {
		told := 0
		l := newEventLog(500, 1000, create, func() { told++ })
		for range 10 {
			mustAppend(t, l, false, 100)
		}
		appended := appending(l, 100)
		select {
		case err := <-appended:
			t.Fatalf("an entry beyond the limit was taken: %v", err)
		default:
		}
		if told != 1 {
			t.Errorf("readers were told %d times to catch up, want once", told)
		}
		l.ack(1) // in memory; the file is still as long
		check.OK(t, <-appended)
		consecutive(t, readAll(t, l, 1), 2, 10)
	})
}

// TestEventLogNumbersThoseThatWaited: an entry that another one overtook while it waited for
// room has a number of its own.
func TestEventLogNumbersThoseThatWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		create, _ := spoolIn(t)
		l := newEventLog(100, 100, create, nobody)
		mustAppend(t, l, false, 80)
		appended := appending(l, 50)
		mustAppend(t, l, false, 10)
		l.ack(1)
		check.OK(t, <-appended)
		batch, _, err := l.read(nil, 1, 1000)
		if got := numbers(t, batch); err != nil || !slices.Equal(got, []uint64{2, 3}) {
			t.Errorf("numbers %v, want 2 and 3: %v", got, err)
		}
	})
}

func TestEventLogTakesOneOfAnySize(t *testing.T) {
	t.Parallel()
	create, made := spoolIn(t)
	l := newEventLog(100, 1000, create, nobody)
	mustAppend(t, l, false, 5000)
	consecutive(t, readAll(t, l, 0), 1, 1)
	if made() != 0 {
		t.Error("the only entry is in a file")
	}
}

func TestEventLogCloseEndsAWaitingWriter(t *testing.T) {
	t.Parallel()
	create, _ := spoolIn(t)
	synctest.Test(t, func(t *testing.T) {
		l := newEventLog(100, 100, create, nobody)
		mustAppend(t, l, false, 100)
		appended := appending(l, 100)
		l.close()
		if err := <-appended; !errors.Is(err, errLogClosed) {
			t.Errorf("error is %v, want errLogClosed", err)
		}
		consecutive(t, readAll(t, l, 0), 1, 1) // what it holds can be read
	})
}

func TestEventLogDrains(t *testing.T) {
	t.Parallel()
	l := newEventLog(1000, 1000, nil, nobody)
	mustAppend(t, l, false, 100)
	l.ack(1) // not the last one
	l.finish(entryOf(100))
	select {
	case <-l.drained:
		t.Error("the log drained before the last acknowledgement")
	default:
	}
	l.ack(2)
	l.ack(2)
	<-l.drained
}

// TestEventLogOnAFullDisk has no room for the spool file: partial messages are
// dropped and the writer waits, as at the limit.
func TestEventLogOnAFullDisk(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	disk := full
	path := filepath.Join(t.TempDir(), "spool")
	synctest.Test(t, func(t *testing.T) {
		l := newEventLog(100, 1<<20, func() (*os.File, error) {
			if disk != nil {
				return nil, disk
			}
			return openSpool(path)
		}, nobody)
		mustAppend(t, l, false, 100)
		mustAppend(t, l, true, 100)
		if l.dropped != 1 {
			t.Errorf("%d were dropped, want 1", l.dropped)
		}
		appended := appending(l, 100)
		l.ack(1)
		check.OK(t, <-appended) // it fits into memory now
		appended = appending(l, 100)
		l.mu.Lock()
		disk = nil // there is room again at the next try, and nothing is acknowledged
		l.mu.Unlock()
		check.OK(t, <-appended)
		consecutive(t, readAll(t, l, 1), 2, 2)
	})
}

// TestEventLogConcurrent has a writer, a reader that acknowledges now and then,
// and readers that begin anew: none of them sees a gap or a wrong entry.
func TestEventLogConcurrent(t *testing.T) {
	t.Parallel()
	const entries = 5000
	create, _ := spoolIn(t)
	l := newEventLog(2000, 20_000, create, nobody)
	var wg sync.WaitGroup
	var done atomic.Bool
	wg.Go(func() {
		r := rand.New(rand.NewPCG(1, 1))
		for range entries {
			if err := l.append(false, nil, entryOf(20+r.IntN(200))); err != nil {
				t.Error(err)
			}
		}
		done.Store(true)
	})
	read := func(ack bool) {
		after := uint64(0)
		for {
			last := done.Load()
			batch, upTo, err := l.read(nil, after, 4000)
			if err != nil {
				t.Error(err)
				return
			}
			if upTo == after {
				if last {
					break
				}
				runtime.Gosched()
				continue
			}
			seqs := numbers(t, batch)
			if ack && seqs[0] != after+1 {
				t.Errorf("entry %d follows %d", seqs[0], after)
			}
			for i, seq := range seqs {
				if seq != seqs[0]+uint64(i) {
					t.Errorf("entry %d follows %d", seq, seqs[i-1])
				}
			}
			if after = upTo; ack {
				l.ack(upTo)
			}
		}
		if ack && after != entries { // to the others, what is acknowledged is lost
			t.Errorf("%d entries were read, want %d", after, entries)
		}
	}
	wg.Go(func() { read(true) })
	for range 2 {
		wg.Go(func() { read(false) })
	}
	wg.Wait()
}

// TestEventLogAlwaysTakesItsLastEntry finishes a log while an entry waits for room.
func TestEventLogAlwaysTakesItsLastEntry(t *testing.T) {
	t.Parallel()
	create, _ := spoolIn(t)
	synctest.Test(t, func(t *testing.T) {
		l := newEventLog(500, 1000, create, nobody)
		for range 10 {
			mustAppend(t, l, false, 100)
		}
		appended := appending(l, 100)
		l.finish(entryOf(100))
		if err := <-appended; !errors.Is(err, errLogClosed) {
			t.Errorf("the entry that waited got %v", err)
		}
		consecutive(t, readAll(t, l, 0), 1, 11)
	})
}

// TestEventLogAsksForAcknowledgements fills a log whose reader has taken everything and
// acknowledges only what it is asked for: the writer does not wait for ever.
func TestEventLogAsksForAcknowledgements(t *testing.T) {
	t.Parallel()
	broken := func() (*os.File, error) { return nil, errors.New("no space") }
	var l *eventLog
	nth := uint64(0)
	l = newEventLog(500, 10_000, broken, func() {
		_, after, err := l.read(nil, 0, 1<<20)
		if err != nil {
			t.Error(err)
		}
		var waits bool
		if nth, waits, _ = l.ackRequest(nth); waits {
			l.ack(after)
		}
	})
	for range 100 {
		mustAppend(t, l, false, 100)
	}
}

// TestWorklist follows turns through a log of which more and more is acknowledged.
func TestWorklist(t *testing.T) {
	t.Parallel()
	create, _ := spoolIn(t)
	l := newEventLog(1<<20, 1<<20, create, nobody)
	for _, line := range []string{
		lifecycle("a", "queued"), lifecycle("a", "started"), lifecycle("b", "queued"), // 1 to 3
		lifecycle("b", "started"), toolCall, lifecycle("b", "completed"), // 4 to 6
		lifecycle("a", "completed"), lifecycle("c", "started"), lifecycle("c", "cancelled"), `{"type":"command_lifecycle","state":1}`, // 7 to 10
	} {
		ev, err := claude.Decode([]byte(line))
		check.OK(t, err)
		check.OK(t, l.append(false, stepOf(&ev), func(b []byte, seq uint64) []byte { return protocol.AppendEvent(b, seq, time.UnixMicro(7), ev.Raw) }))
	}
	for seq, want := range []string{"[]", "[]", "[a]", "[a]", "[a b]", "[a b]", "[a]", "[]", "[c]", "[]", "[]"} {
		l.ack(uint64(seq))
		if last, working, kept := l.state(); fmt.Sprint(working) != want || last != 10 || kept != (seq < 10) {
			t.Errorf("after %d of %d entries claude works on %v, want %s", seq, last, working, want)
		}
	}
}
