package ledger

import (
	"time"

	"modernc.org/sqlite"
)

// walLog is what the writer knows of the write-ahead log.
type walLog struct {
	pages  int // written since the last checkpoint
	failed bool
}

const (
	// busyPages is how far the log grows before it is emptied into the file: 8
	// MiB with pages of 4 KiB. The next write then begins at its start again, so
	// that in the long run a sync finds the size of the log unchanged, and a
	// start after kill -9 has little to replay.
	busyPages = 2000
	// idlePages is the same for a ledger that has had nothing to do for idleTime.
	idlePages = 100
	idleTime  = time.Second
)

// checkpoint copies the log into the file if it has at least that many pages.
// It runs after everybody has been told, and on this goroutine: while somebody
// writes, the log cannot be restarted.
func (w *writer) checkpoint(pages int) {
	if w.stale {
		return
	}
	if s, ok := w.conn.conn.(sqlite.DBStatus); ok {
		n, _, _ := s.Status(sqlite.DBStatusCacheWrite, true)
		w.wal.pages += n
	}
	if w.wal.pages < pages {
		return
	}
	w.wal.pages = 0 // also after a failure: it is tried again as many pages later
	began := time.Now()
	_, _, err := w.conn.row(stmtCheckpoint)
	w.stepped(began)
	w.stats.checkpoints.Add(1)
	if failed := err != nil; failed != w.wal.failed {
		w.wal.failed = failed
		if failed {
			w.log.Warn("ledger log cannot be emptied", "file", w.path, "error", err)
		}
	}
}
