package ledger

import (
	"time"

	"modernc.org/sqlite"
)

// A walLog is the writer's view of the write-ahead log.
type walLog struct {
	pages  int // pages written since the last checkpoint
	failed bool
}

const (
	// busyPages is the log size at which a busy writer copies the log into the file:
	// 8 MiB with pages of 4 KiB. The next write then restarts the log at the beginning.
	// In the long run the log's size therefore stays constant, which makes syncs cheap,
	// and a start after kill -9 has little to replay.
	busyPages = 2000
	// idlePages is the log size at which a writer that has been idle for idleTime
	// checkpoints.
	idlePages = 100
	idleTime  = time.Second
)

// checkpoint copies the log into the file if the log holds at least the given number of
// pages. checkpoint runs after all callbacks, and on the writer's goroutine because the
// log cannot restart during a write.
func (w *writer) checkpoint(pages int) {
	if w.stale {
		return
	}
	_ = w.conn.conn.Raw(func(c any) error {
		n, _, _ := c.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
		w.wal.pages += n
		return nil
	})
	if w.wal.pages < pages {
		return
	}
	w.wal.pages = 0 // also after a failure: the next attempt follows after as many pages
	began := time.Now()
	var busy, frames, copied int
	err := w.conn.row(stmtCheckpoint).Scan(&busy, &frames, &copied)
	w.stepped(began)
	if failed := err != nil; failed != w.wal.failed {
		w.wal.failed = failed
		if failed {
			w.log.Warn("ledger log cannot be emptied", "file", w.path, "error", err)
		}
	}
}
