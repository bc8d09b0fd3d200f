package sessionfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bareclaw/internal/lockfile"
)

// follow resolves symbolic links, also to a file that does not exist yet.
func follow(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range 40 { // as many as Linux follows: path_resolution(7)
		next, err := os.Readlink(path)
		if err != nil {
			return path, nil //nolint:nilerr // no link, or nothing there; in any other case reading the file fails as well
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	return "", errors.New("too many symbolic links")
}

// lockFile takes the lock until the returned file is closed.
func lockFile(path string) (*os.File, error) {
	f, err := lockfile.Own(path, os.Getpid(), lockfile.Acquire)
	switch {
	case errors.Is(err, lockfile.ErrHeld):
		return nil, fmt.Errorf("it is in use by another bareclaw, process %d", lockfile.Owner(path))
	case err != nil:
		return nil, fmt.Errorf("its directory cannot be written (set BARECLAW_SESSION_FILE to another path): %w", err)
	}
	return f, nil
}

// removeLeftovers removes temporary files of a process that died while writing: a dot, the
// file's name and digits, as renameio names them. The caller holds the lock, so nobody
// writes now.
func removeLeftovers(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return // nothing depends on it
	}
	prefix := "." + filepath.Base(path)
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), prefix)
		if ok && digits != "" && strings.Trim(digits, "0123456789") == "" && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// checkWritable reports at start, before the first message, that a directory does not
// allow new files.
func checkWritable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("its directory cannot be written (set BARECLAW_SESSION_FILE to another path): %w", err)
	}
	return nil
}
