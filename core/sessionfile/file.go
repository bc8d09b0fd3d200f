// Package sessionfile keeps the session id of each channel in a JSON file that a person
// can read: {"channel": "session id"}.
//
// Set and Forget replace the whole file durably before they return. Changes that arrive
// during a write share the next write. One process holds the file at a time, and no
// session id belongs to two channels, because two agents that resume the same session
// destroy its history. Damaged contents are set aside and reported, never dropped
// silently.
package sessionfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"bareclaw/core"
	"bareclaw/internal/atomicfile"
)

// A File is an open session file. It implements [core.SessionIDs]; all methods are safe
// for concurrent use.
type File struct {
	path    string // absolute
	lock    *os.File
	problem string

	writing sync.Mutex // held while the file is written, and protects closed and the replacement of ids
	closed  bool

	mu      sync.Mutex // protects the fields below, never held across a write
	ids     map[core.ChannelKey]string
	pending []*change // bounded by the number of callers, who all wait
}

var _ core.SessionIDs = (*File)(nil)

// Open reads the file, which may be missing, and locks the file until Close. A symbolic
// link in the place of the file or of its lock is refused; links among the directories are
// followed. The error explains a bad place, or names the process that holds the file. Damaged
// contents are no error: see [File.Problem].
func Open(path string, log *slog.Logger) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("session file %s: %w", path, err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSymlink { // before a lock is made
		return nil, fmt.Errorf("session file %s: %w", path, errLink)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("session file %s: %w", path, err)
	}
	f := &File{path: path, lock: lock}
	if err := f.load(log); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("session file %s: %w", path, err)
	}
	return f, nil
}

// Close waits for a running write and releases the file. Later changes return
// [core.ErrClosed].
func (f *File) Close() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	return f.lock.Close()
}

// Problem describes, for a person, the damage that Open found and where the original is.
// It is empty for a good file.
func (f *File) Problem() string { return f.problem }

// Get implements [core.SessionIDs].
func (f *File) Get(key core.ChannelKey) (id string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, ok = f.ids[key]
	return id, ok
}

// All implements [core.SessionIDs].
func (f *File) All() map[core.ChannelKey]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.ids)
}

// load reads the file, and sets a damaged file aside.
func (f *File) load(log *slog.Logger) error {
	removeLeftovers(f.path)
	if err := checkWritable(filepath.Dir(f.path)); err != nil {
		return err
	}
	b, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		f.ids = map[core.ChannelKey]string{}
		return nil
	}
	if err != nil {
		return err
	}
	var problem error
	if f.ids, problem = parse(b); problem == nil {
		return nil
	}
	aside := f.path + ".corrupt-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	if err := atomicfile.Write(aside, b, 0o600); err != nil {
		return fmt.Errorf("it is damaged (%w) and could not be set aside: %w", problem, err)
	}
	if err := f.write(f.ids); err != nil {
		return err
	}
	f.problem = fmt.Sprintf("The session file %s was damaged: %s. %d entries were kept; the original is %s.", f.path, problem, len(f.ids), aside)
	log.Warn("session file was damaged", "file", f.path, "kept", len(f.ids), "original", aside, "problem", problem)
	return nil
}

// read returns the contents, and makes the file private.
func (f *File) read() ([]byte, error) {
	file, err := open(f.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if err := file.Chmod(0o600); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}

func (f *File) write(ids map[core.ChannelKey]string) error {
	b, err := format(ids)
	if err != nil {
		return err
	}
	return atomicfile.Write(f.path, b, 0o600)
}

// A change gives a channel another session, or none, for a waiting caller.
type change struct {
	key core.ChannelKey
	id  string // empty: the channel is forgotten
	err error
}

// apply changes the entries, or returns an error and changes nothing.
func (c *change) apply(ids map[core.ChannelKey]string) error {
	if c.id == "" {
		delete(ids, c.key)
		return nil
	}
	for owner, other := range ids {
		if owner != c.key && strings.EqualFold(other, c.id) {
			return fmt.Errorf("session of channel %q: %s is the session of channel %q", c.key, c.id, owner)
		}
	}
	ids[c.key] = c.id
	return nil
}

// Set implements [core.SessionIDs]. A failed Set changes nothing. An id must be a UUID
// that no other channel has.
func (f *File) Set(key core.ChannelKey, id string) error {
	if !utf8.ValidString(string(key)) {
		return fmt.Errorf("session of channel %q: the name is not valid UTF-8", key)
	}
	if !validID(id) {
		return fmt.Errorf("session of channel %q: %q is not a UUID", key, id)
	}
	return f.change(key, id)
}

// Forget implements [core.SessionIDs]. A failed Forget changes nothing.
func (f *File) Forget(key core.ChannelKey) error { return f.change(key, "") }

// change queues a change and waits until the change is on disk. A caller that finds nobody
// writing writes for all callers that have queued meanwhile.
func (f *File) change(key core.ChannelKey, id string) error {
	c := &change{key: key, id: id}
	f.mu.Lock()
	f.pending = append(f.pending, c)
	f.mu.Unlock()
	f.writing.Lock()
	defer f.writing.Unlock()
	f.writePending() // nothing, if the last writer has taken c
	return c.err
}

// writePending writes all pending changes as one new file. The caller holds f.writing.
func (f *File) writePending() {
	f.mu.Lock()
	batch := f.pending
	f.pending = nil
	f.mu.Unlock()
	next := maps.Clone(f.ids)
	for _, c := range batch {
		c.err = c.apply(next)
	}
	err := core.ErrClosed
	if !f.closed {
		err = f.replace(next)
	}
	for _, c := range batch {
		c.err = cmp.Or(c.err, err)
	}
}

func (f *File) replace(next map[core.ChannelKey]string) error {
	if maps.Equal(next, f.ids) {
		return nil
	}
	if err := f.write(next); err != nil {
		return fmt.Errorf("write session file %s: %w", f.path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = next
	return nil
}
