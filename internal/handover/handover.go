// Package handover replaces a running process by a new one of the same program
// without giving up what it holds: the files it passes on (listeners, locks) stay
// open all the time, and at any moment exactly one of the two owns the rest.
//
// The order, over a socket pair that both hold:
//
//	predecessor                          successor
//	Start ───────────────────────────►   Inherited
//	Ready (keeps working)      ◄──────   Ready: it could take over, and owns nothing yet
//	gives up everything, then Go ────►   AwaitGo
//	Serving (forwards)         ◄──────   Serving: it owns everything
//
// A successor that fails before Go changes nothing. When the predecessor dies
// before Go, the successor ends too: whoever started the predecessor knows of its
// end, and not of a successor.
package handover

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
)

// variable tells a successor what it inherits: the names of the files that begin
// at descriptor 3, the first of them the control socket.
const variable = "BARECLAW_HANDOVER"

// The states that a side announces.
const (
	stateReady   = "ready"
	stateFailed  = "failed"
	stateGo      = "go"
	stateServing = "serving"
)

// A note is one line on the control socket.
type note struct {
	State string `json:"state"`
	Error string `json:"error,omitempty"` // with failed
	Path  string `json:"path,omitempty"`  // with serving: see Predecessor.Serving
}

// A link is one end of the control socket.
type link struct {
	conn net.Conn
	in   *bufio.Reader
}

func newLink(f *os.File) (*link, error) {
	defer func() { _ = f.Close() }()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("use the control socket: %w", err)
	}
	return &link{conn: conn, in: bufio.NewReader(conn)}, nil
}

func (l *link) send(n note) error {
	b, err := json.Marshal(n)
	if err == nil {
		_, err = l.conn.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("tell the other process %q: %w", n.State, err)
	}
	return nil
}

// errGone says that the other process has ended.
var errGone = errors.New("the other process has ended")

// receive waits for the note with that state. One that says failed is an error.
func (l *link) receive(state string) (note, error) {
	line, err := l.in.ReadBytes('\n')
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			err = errGone
		}
		return note{}, fmt.Errorf("wait for %q: %w", state, err)
	}
	var n note
	switch err := json.Unmarshal(line, &n); {
	case err != nil:
		return note{}, fmt.Errorf("wait for %q: %w", state, err)
	case n.State == stateFailed:
		return n, errors.New(n.Error)
	case n.State != state:
		return n, fmt.Errorf("wait for %q: the other process says %q", state, n.State)
	}
	return n, nil
}
