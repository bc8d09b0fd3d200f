package discovery

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bareclaw/internal/atomicfile"
)

const (
	// storeExt ends the name of a StoreFile.
	storeExt = ".store"
	// maxStoreFile bounds what is read of a StoreFile, in bytes.
	maxStoreFile = 256
)

// A StoreFile names the store of findings that an observer has begun last, and the one before, outside of the directory of
// the app: what comes with that directory, such as with a clone of a repository, is none that this user has made.
type StoreFile struct {
	path string
	log  *slog.Logger
}

// StoreFile returns that of an observer.
func (d Records) StoreFile(id string, log *slog.Logger) (*StoreFile, error) {
	if _, err := d.path(id); err != nil {
		return nil, err
	}
	return &StoreFile{
		path: filepath.Join(string(d), id+storeExt),
		log:  log,
	}, nil
}

// Trusted reports whether the file names the store with an id.
func (f *StoreFile) Trusted(store string) bool { return slices.Contains(f.read(), store) }

// read returns the ids of the stores, that of the latest first; none if there is no such file.
func (f *StoreFile) read() []string {
	file, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxStoreFile))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// Remember notes the id of the store that the observer begins. An error is logged: the next observer begins a store of its
// own then.
func (f *StoreFile) Remember(store string) {
	if err := f.write(store); err != nil {
		f.log.Warn("the findings of this app will be set aside when it is observed again", "file", f.path, "error", err)
	}
}

func (f *StoreFile) write(store string) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("make the directory of observers: %w", err)
	}
	lines := store + "\n"
	if before := f.read(); len(before) > 0 {
		lines += before[0] + "\n"
	}
	return atomicfile.Write(f.path, []byte(lines), 0o600)
}
