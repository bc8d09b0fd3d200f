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

// errLink reports a symbolic link where the file, or its lock, should be. The directory may be
// anybody's project, so a link there must not decide which file is replaced.
var errLink = errors.New("it is a symbolic link, and links are not followed here: remove the link, or set BARECLAW_SESSION_FILE to the path of the file itself")

// open opens the file for reading. A link, and what is no regular file, is an error.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // a named pipe would wait
	if errors.Is(err, unix.ELOOP) {
		return nil, errLink
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// lockFile takes the lock until the returned file is closed.
func lockFile(path string) (*os.File, error) {
	f, err := lockfile.Own(path, os.Getpid(), lockfile.Acquire)
	switch {
	case errors.Is(err, lockfile.ErrHeld):
		return nil, fmt.Errorf("it is in use by another bareclaw, process %d", lockfile.Owner(path))
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("its lock %s: %w", path, errLink)
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
