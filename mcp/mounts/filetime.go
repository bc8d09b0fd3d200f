package mounts

import "time"

// noteRead notes that the version of the file in seen is what the room goes by.
func (r *Mounts) noteRead() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = r.seen.changed
}

// FileTime returns when the file was last changed that the room has read; zero if there was none. Whoever has
// changed the file knows by it whether Status speaks of that.
func (r *Mounts) FileTime() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}
