package host

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
	"bareclaw/sessionhost/protocol"
)

// TestSpoolThatIsFullInALine has the disk become full in the middle of a line. The rest of
// it, and what comes after, is written by itself when there is room, and all can be read.
func TestSpoolThatIsFullInALine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roottest.SmallDisk(t, dir, "16k")
	synctest.Test(t, func(t *testing.T) {
		var l *eventLog
		var told []error
		nth := uint64(0)
		l = newEventLog(100, 1<<20, func() (*os.File, error) { return openSpool(filepath.Join(dir, "spool")) }, func() {
			var err error
			if nth, _, err = l.ackRequest(nth); err != nil {
				told = append(told, err)
			}
		})
		defer func() { _ = l.spool.Close() }()
		mustAppend(t, l, false, 100)
		mustAppend(t, l, false, 10_000)
		appended := make(chan error, 1)
		go func() {
			for range 5 {
				if err := l.append(false, nil, entryOf(10_000)); err != nil {
					appended <- err
					return
				}
			}
			appended <- nil
		}()
		time.Sleep(10 * protocol.RetryInterval)
		synctest.Wait()
		if st, err := l.spool.Stat(); err != nil || st.Size() != 16<<10 {
			t.Fatalf("the file has %d bytes (%v): it is not full in the middle of a line", st.Size(), err)
		}
		if len(told) != 1 {
			t.Errorf("it was told %d times, want once: %v", len(told), told)
		}
		consecutive(t, readAll(t, l, 0), 1, 2) // what is there can be read meanwhile
		check.OK(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=1m"))
		began := time.Now()
		check.OK(t, <-appended)
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("it went on after %v, by the clock of the test", waited)
		}
		consecutive(t, readAll(t, l, 0), 1, 7)
		batch, _, err := l.read(nil, 2, 1<<20)
		check.OK(t, err)
		for seq := uint64(3); seq <= 7; seq++ {
			want := entryOf(10_000)(nil, seq)
			if !bytes.HasPrefix(batch, want) {
				t.Fatalf("entry %d is not what was written", seq)
			}
			batch = batch[len(want):]
		}
	})
}
