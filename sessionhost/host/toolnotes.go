package host

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"bareclaw/sessionhost/claude"
)

// toolNotes remember on disk which turns have begun a tool. claude's transcript
// lags behind what it does, and a turn that has begun a tool must never be run
// again by itself: so the host, which sees the call announced before the tool
// runs, writes the turn's uuid to a file of its own, in which it keeps some room for
// the case that the disk is full by then. Not synced: the note is for deaths of processes.
type toolNotes struct {
	path    func() string
	working []string // turns that claude has begun and is not done with
	noted   []string // those of them that are in the file
	pending bool     // a note could not be written: it is tried again with each event
}

// noteRoom is how much room is kept at the end of the file: a note takes 37 bytes.
const noteSpace = 4 << 10

// maxToolNotes is how large the file may be before its older half is dropped.
// The notes of turns that have their outcome mean nothing any more.
const maxToolNotes = 64 << 10

// hear follows the turns and notes those that begin a tool. It is called from
// the goroutine that reads claude's output.
func (n *toolNotes) observe(ev claude.Event) error {
	if ev.Type != claude.TypeLifecycle {
		switch {
		case len(n.noted) == len(n.working):
		case n.pending:
			n.pending = n.note() != nil // why not is known
		case ev.BeginsTool():
			err := n.note()
			n.pending = err != nil
			return err
		}
		return nil
	}
	l, err := ev.Lifecycle()
	if err != nil {
		return err
	}
	is := func(id string) bool { return id == l.UUID }
	switch {
	case l.Done():
		n.working = slices.DeleteFunc(n.working, is)
		n.noted = slices.DeleteFunc(n.noted, is)
		n.pending = n.pending && len(n.working) > 0
	case l.State == claude.StateStarted && !slices.ContainsFunc(n.working, is):
		n.working = append(n.working, l.UUID)
	}
	return nil
}

func (n *toolNotes) note() error {
	n.trim()
	f, err := os.OpenFile(n.path(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open tool notes: %w", err)
	}
	var b []byte
	for _, id := range n.working {
		if !slices.Contains(n.noted, id) {
			b = append(append(b, id...), '\n')
		}
	}
	_, err = f.Write(b)
	reserveSpace(f, noteSpace)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write tool notes: %w", err)
	}
	n.noted = slices.Clone(n.working)
	return nil
}

// keepRoom makes the file, if there is none, with room for the next notes.
func (n *toolNotes) reserve() {
	f, err := os.OpenFile(n.path(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return // the first note says why
	}
	reserveSpace(f, noteSpace)
	_ = f.Close()
}

// giveBackRoom keeps no more than what is noted. Nothing is noted after that.
func (n *toolNotes) release() {
	path := n.path()
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.Size() == 0:
		_ = os.Remove(path)
	default:
		_ = os.Truncate(path, info.Size()) // a failure leaves the room that it had
	}
}

// trim drops the older half of a large file. A failure leaves it large.
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
