package runner

import (
	"context"
	"fmt"
	"sync"
)

// maxConsole bounds what a call writes to the console and the daemon keeps, in bytes.
const maxConsole = 8 << 10

// notes are what the daemon hears of a call beside the result. The nil notes take nothing down. All methods
// are safe for concurrent use: code that cannot be interrupted goes on.
type notes struct {
	mu      sync.Mutex // guards the fields below
	console []string
	size    int // of console, in bytes
	stuck   bool
}

type notesKey struct{}

// withNotes returns a context whose call is taken down.
func withNotes(ctx context.Context) (context.Context, *notes) {
	n := &notes{}
	return context.WithValue(ctx, notesKey{}, n), n
}

// notesOf returns the notes of a call; nil: there are none.
func notesOf(ctx context.Context) *notes {
	n, _ := ctx.Value(notesKey{}).(*notes)
	return n
}

// write takes down a line of the console, up to a limit.
func (n *notes) write(line string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch before := n.size; {
	case before > maxConsole:
	case before+len(line) > maxConsole:
		n.size = maxConsole + 1
		n.console = append(n.console, fmt.Sprintf("(more than %d bytes: the rest is in the log of the gateway)", maxConsole))
	default:
		n.size += len(line)
		n.console = append(n.console, line)
	}
}

// markStuck takes down that the code of the call cannot be interrupted.
func (n *notes) markStuck() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stuck = true
}

// read returns what was taken down.
func (n *notes) read() (console []string, stuck bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.console, n.stuck
}
