// Package atomicfile replaces files so that at any moment, also after a power failure,
// the old or the new contents are there as a whole.
package atomicfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// Write replaces the contents of a file, and its mode. The temporary file is made beside the file.
func Write(path string, contents []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithStaticPermissions(mode), renameio.WithTempDir(dir))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }() // does nothing after the replacement
	if _, err := f.Write(contents); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return SyncDir(dir)
}

// Ensure is Write unless the file holds the contents already. What a link leads to is left alone.
func Ensure(path string, contents []byte, mode fs.FileMode) error {
	if holds(path, contents) {
		return nil
	}
	return Write(path, contents, mode)
}

// holds reports whether a file can be read, and has these contents.
func holds(path string, contents []byte) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // a FIFO must not block
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	held, err := io.ReadAll(io.LimitReader(f, int64(len(contents))+1))
	return err == nil && bytes.Equal(held, contents)
}

// WriteSoon is Write for contents that need not survive a power failure: it does not wait for the disk.
// After a power failure the file may be damaged.
func WriteSoon(path string, contents []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path))
	if err != nil {
		return err
	}
	_, err = f.Write(contents)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// WriteJSON replaces the contents of a private file by a value as JSON.
func WriteJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return Write(path, append(b, '\n'), 0o600)
}

// SyncDir makes new names in a directory durable, where the file system can do that.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
