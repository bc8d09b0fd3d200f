package host

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/pipe"
)

// toolNotes note on disk the turns that have begun a tool. Such a turn must never run again
// by itself, and claude's transcript lags behind. The host sees the announcement of the
// call before the tool runs, and writes the turn's uuid to a file with reserved space for a
// full disk. The file is not synced: it serves after deaths of processes.
type toolNotes struct {
	path    func() string
	working []string // turns begun and unfinished
	noted   []string // working turns in the file
	pending bool     // a note failed, and is tried again with each event

	file     *os.File // nil before the first note
	size     int64
	reserved int64 // end of the space that the file has for sure; 0 if unknown
}

// noteSpace is the space reserved at the end of the file: a note takes 37 bytes.
const noteSpace = 4 << 10

// maxToolNotes is the size at which the file loses its older half. Notes of finished turns
// mean nothing.
const maxToolNotes = 64 << 10

// observe follows the turns and notes those that begin a tool. It is called from the
// goroutine that reads claude's output.
func (n *toolNotes) observe(ev *claude.Event) error {
	if ev.Type != claude.TypeLifecycle {
		switch {
		case len(n.noted) == len(n.working):
		case n.pending:
			n.pending = n.note() != nil // the first failure was reported
		case ev.BeginsTool():
			err := n.note()
			n.pending = err != nil
			return err
		}
		return nil
	}
	if s := stepOf(ev); s != nil {
		n.working = s.apply(n.working)
		n.noted = slices.DeleteFunc(n.noted, func(id string) bool { return s.done && id == s.turn })
		n.pending = n.pending && len(n.working) > 0
	}
	return nil
}

// note adds the working turns to the file, which stays open: to open it and to reserve space
// for each note cost the host more than the rest of a turn.
func (n *toolNotes) note() error {
	if err := n.open(); err != nil {
		return fmt.Errorf("open tool notes: %w", err)
	}
	var b []byte
	for _, id := range n.working {
		if !slices.Contains(n.noted, id) {
			b = append(append(b, id...), '\n')
		}
	}
	if written, err := pipe.WriteNow(n.file.Fd(), b); err != nil || written < len(b) {
		return fmt.Errorf("write tool notes: %w", cmp.Or(err, io.ErrShortWrite))
	}
	if n.size += int64(len(b)); n.size > n.reserved-noteSpace/2 && reserveSpace(n.file, noteSpace) {
		n.reserved = n.size + noteSpace
	}
	n.noted = slices.Clone(n.working)
	return nil
}

func (n *toolNotes) open() error {
	if n.file != nil && n.size < maxToolNotes {
		return nil
	}
	if n.file != nil {
		_ = n.file.Close()
		n.file = nil
	}
	n.trim()
	f, err := os.OpenFile(n.path(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	n.file, n.size, n.reserved = f, info.Size(), 0
	return nil
}

// reserve makes the file, if missing, with space for the next notes.
func (n *toolNotes) reserve() {
	f, err := os.OpenFile(n.path(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return // the first note will report the error
	}
	reserveSpace(f, noteSpace)
	_ = f.Close()
}

// release gives back the reserved space. Nothing is noted after that.
func (n *toolNotes) release() {
	path := n.path()
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.Size() == 0:
		_ = os.Remove(path)
	default:
		_ = os.Truncate(path, info.Size()) // a failure leaves the reserved space
	}
}

// trim drops the older half of a large file. A failure leaves the file large.
func (n *toolNotes) trim() {
	path := n.path()
	b, err := os.ReadFile(path)
	if err != nil || len(b) < maxToolNotes {
		return
	}
	half := b[len(b)/2:]
	if i := bytes.IndexByte(half, '\n'); i >= 0 {
		half = half[i+1:]
	}
	tmp := path + ".tmp"
	if os.WriteFile(tmp, half, 0o600) == nil {
		_ = os.Rename(tmp, path)
	}
}
