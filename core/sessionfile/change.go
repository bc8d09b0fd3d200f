package sessionfile

import (
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"bareclaw/core"
	"bareclaw/internal/atomicfile"
)

// A change sets one entry, or removes the entry if id is empty.
type change struct {
	key  core.ChannelKey
	id   string
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
	return f.change(&change{key: key, id: id, done: make(chan error, 1)})
}

// Forget implements [core.SessionIDs]. A failed Forget changes nothing.
func (f *File) Forget(key core.ChannelKey) error {
	return f.change(&change{key: key, done: make(chan error, 1)})
}

// change queues c and waits for the result. The first caller writes for all callers that
// queue meanwhile.
func (f *File) change(c *change) error {
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
	next := apply(f.ids, batch)
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

// apply returns ids with the changes applied in order. A refused change gets an error.
func apply(ids map[core.ChannelKey]string, batch []*change) map[core.ChannelKey]string {
	next := maps.Clone(ids)
	for _, c := range batch {
		if c.id == "" {
			delete(next, c.key)
			continue
		}
		if owner, taken := ownerOf(next, c.id); taken && owner != c.key {
			c.err = fmt.Errorf("session of channel %q: %s is the session of channel %q", c.key, c.id, owner)
			continue
		}
		next[c.key] = c.id
	}
	return next
}

func ownerOf(ids map[core.ChannelKey]string, id string) (core.ChannelKey, bool) {
	for key, other := range ids {
		if strings.EqualFold(other, id) {
			return key, true
		}
	}
	return "", false
}

// validKey reports whether a name survives being written as JSON.
func validKey(key string) bool {
	return utf8.ValidString(key) && !strings.ContainsRune(key, utf8.RuneError)
}
