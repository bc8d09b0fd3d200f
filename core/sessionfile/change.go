package sessionfile

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"bareclaw/core"
	"bareclaw/internal/atomicfile"
)

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
	if !validKey(string(key)) {
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
	if err := atomicfile.Write(f.path, format(next), 0o600); err != nil {
		return fmt.Errorf("write session file %s: %w", f.path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = next
	return nil
}

// validKey reports whether a name survives being written as JSON.
func validKey(key string) bool {
	return utf8.ValidString(key) && !strings.ContainsRune(key, utf8.RuneError)
}
