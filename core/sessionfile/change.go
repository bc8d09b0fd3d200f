package sessionfile

import (
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"bareclaw/core"
	"bareclaw/internal/atomicfile"
)

// An edit changes the entries, or returns an error and changes nothing.
type edit func(ids map[core.ChannelKey]string) error

// A change is an edit with a waiting caller.
type change struct {
	edit edit
	err  error
	done chan error // capacity 1
}

// Set implements [core.SessionIDs]. A failed Set changes nothing. An id must be a UUID
// that no other channel has.
func (f *File) Set(key core.ChannelKey, id string) error {
	if !validKey(string(key)) {
		return fmt.Errorf("session of channel %q: the name is not valid UTF-8", key)
	}
	if !validID(id) {
		return fmt.Errorf("session of channel %q: %q is not a UUID", key, id)
	}
	return f.change(set(key, id))
}

func set(key core.ChannelKey, id string) edit {
	return func(ids map[core.ChannelKey]string) error {
		for owner, other := range ids {
			if owner != key && strings.EqualFold(other, id) {
				return fmt.Errorf("session of channel %q: %s is the session of channel %q", key, id, owner)
			}
		}
		ids[key] = id
		return nil
	}
}

// Forget implements [core.SessionIDs]. A failed Forget changes nothing.
func (f *File) Forget(key core.ChannelKey) error { return f.change(forget(key)) }

func forget(key core.ChannelKey) edit {
	return func(ids map[core.ChannelKey]string) error {
		delete(ids, key)
		return nil
	}
}

// change queues an edit and waits for the result. The first caller writes for all callers
// that queue meanwhile.
func (f *File) change(e edit) error {
	c := &change{edit: e, done: make(chan error, 1)}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return core.ErrClosed
	}
	f.pending = append(f.pending, c)
	if !f.writing {
		f.writing = true
		for len(f.pending) > 0 {
			f.writePendingLocked()
		}
		f.writing = false
		f.rests.Broadcast()
	}
	f.mu.Unlock()
	return <-c.done
}

// writePendingLocked writes all pending changes as one new file. It releases the lock
// during the write; only one goroutine writes at a time.
func (f *File) writePendingLocked() {
	batch := f.pending
	f.pending = nil
	next := maps.Clone(f.ids)
	for _, c := range batch {
		c.err = c.edit(next)
	}
	var err error
	switch {
	case maps.Equal(next, f.ids):
	case f.closed:
		err = core.ErrClosed
	default:
		f.mu.Unlock()
		err = atomicfile.Write(f.path, format(next), 0o600)
		f.mu.Lock()
	}
	if err == nil {
		f.ids = next
	} else {
		err = fmt.Errorf("write session file %s: %w", f.path, err)
	}
	for _, c := range batch {
		if c.err == nil {
			c.err = err
		}
		c.done <- c.err
	}
}

// validKey reports whether a name survives being written as JSON.
func validKey(key string) bool {
	return utf8.ValidString(key) && !strings.ContainsRune(key, utf8.RuneError)
}
