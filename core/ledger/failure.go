package ledger

import (
	"errors"
	"fmt"
	"path/filepath"

	"bareclaw/core"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteCode returns the primary result code in err, 0 if err holds none:
// https://www.sqlite.org/rescode.html
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// isStorage reports whether the disk or the file caused err, rather than the change.
func isStorage(err error) bool {
	switch sqliteCode(err) {
	case 0, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_ERROR:
		return false
	default:
		return true
	}
}

func isFull(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_FULL }

// isDamaged reports whether SQLite found the file corrupt or not a database.
func isDamaged(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// storageError wraps the error of a write with core.ErrStorageFull or core.ErrStorage.
func storageError(path string, err error) error {
	switch {
	case isFull(err), sqliteCode(err) == sqlite3.SQLITE_IOERR && diskFull(filepath.Dir(path)):
		return fmt.Errorf("%w: %w", core.ErrStorageFull, err)
	case isDamaged(err):
		return fmt.Errorf("%w: %w", core.ErrStorage, damaged(path, err))
	default:
		return fmt.Errorf("%w: %w", core.ErrStorage, err)
	}
}

// damaged adds the remedies for a damaged file, for the operator.
func damaged(path string, err error) error {
	return fmt.Errorf("%s is damaged or no SQLite database: stop bareclaw, then move it away together with its -wal and -shm files "+
		"(bareclaw starts with an empty ledger), or save what can be read: sqlite3 %s .recover | sqlite3 new.db: %w",
		path, filepath.Base(path), err)
}

// diskFull reports whether the file system has no room for another page. On a full disk
// some file systems return EIO, or fail in a sync or in the shared-memory file.
func diskFull(dir string) bool {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return false
	}
	return s.Bavail*uint64(s.Bsize) < 64<<10
}
