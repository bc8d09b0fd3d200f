package ledger

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"bareclaw/internal/atomicfile"
)

// create ensures that the file and the file's directory exist with private permissions
// and returns the absolute path. SQLite gives the -wal and -shm files the permissions of
// the main file: https://www.sqlite.org/src/file/src/os_unix.c (findCreateFileMode).
func create(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return path, restrict(path)
	}
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return path, atomicfile.SyncDir(dir)
}

// restrict removes all permissions of other users from an existing file. restrict does
// not open the file: closing a descriptor would drop SQLite's POSIX locks of the
// process.
func restrict(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return os.Chmod(path, 0o600)
}

// writerDSN returns the data source name for writing to an existing file. Mode rw never
// creates a file, so an empty file cannot replace a ledger that has vanished, for
// instance with its file system.
//
// The writer checkpoints when no caller waits, hence wal_autocheckpoint(0). The log
// keeps its size across restarts, up to journal_size_limit, because a sync that leaves
// the size unchanged is cheaper. On macOS only F_FULLFSYNC makes a sync durable;
// fullfsync has no effect on other systems.
func writerDSN(path string) string {
	return dsn(path, "rw",
		"journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)", "wal_autocheckpoint(0)", "journal_size_limit(16777216)",
		"busy_timeout(5000)", "cache_size(-2048)", "temp_store(MEMORY)", "mmap_size(0)", "trusted_schema(0)")
}

func readerDSN(path string) string {
	return dsn(path, "ro", "query_only(1)", "busy_timeout(5000)", "cache_size(-512)", "temp_store(MEMORY)", "mmap_size(0)",
		"trusted_schema(0)")
}

func dsn(path, mode string, pragmas ...string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	q := url.Values{"mode": {mode}, "_pragma": pragmas, "_dqs": {"0"}}
	return u.String() + "?" + q.Encode()
}
