package supervisor

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"bareclaw/internal/proc"
	"bareclaw/internal/socketpair"
)

// The kinds of messages to a worker.
const (
	msgStart     = "start"      // prepare; the files are those that other workers have deposited
	msgGo        = "go"         // serve: nobody else does
	msgPrepared  = "prepared"   // the requested successor could serve: release everything
	msgRefused   = "refused"    // the requested restart failed; go on
	msgSucceeded = "succeeded"  // another worker serves, and answers held requests at Path
	msgTrialOver = "trial over" // the program stays
)

// The kinds of messages from a worker.
const (
	msgReady    = "ready"    // prepared; owns nothing yet
	msgKeep     = "keep"     // the files are to outlive the worker
	msgServing  = "serving"  // owns everything
	msgRestart  = "restart"  // a successor of the program Path is wanted
	msgReleased = "released" // owns nothing any more
	msgStopping = "stopping" // was told to end, and ends
	msgFailed   = "failed"   // cannot serve
	msgNotify   = "notify"   // a state for the service manager
	msgHealth   = "health"   // of a program on trial
)

// A message is sent between the supervisor and a worker. Files travel beside the JSON.
type message struct {
	Kind  string `json:"kind"`
	Path  string `json:"path,omitempty"`
	Error string `json:"error,omitempty"`
	State string `json:"state,omitempty"` // with notify
	Trial bool   `json:"trial,omitempty"` // with restart and serving: the program is on trial
	First bool   `json:"first,omitempty"` // with start: a person or a service manager starts the gateway
	Heir  bool   `json:"heir,omitempty"`  // with start: another worker serves, or holds requests

	ForNow bool `json:"for_now,omitempty"` // with failed: a later worker may serve

	Names []string            `json:"names,omitempty"` // of the files
	files map[string]*os.File // by name
}

const (
	maxMessage = 64 << 10 // bytes of JSON
	maxFiles   = 16
)

// A link is one end of the stream socket between the supervisor and a worker. Messages may
// be sent concurrently; one goroutine receives.
type link struct {
	conn *net.UnixConn
	send sync.Mutex
}

func newLink(f *os.File) (*link, error) {
	conn, err := socketpair.Conn(f)
	if err != nil {
		return nil, fmt.Errorf("the control socket: %w", err)
	}
	return &link{conn: conn}, nil
}

// newPair returns a link and the file of its other end. No other child inherits either.
func newPair() (*link, *os.File, error) {
	conn, theirs, err := socketpair.New("control")
	if err != nil {
		return nil, nil, fmt.Errorf("the control socket: %w", err)
	}
	return &link{conn: conn}, theirs, nil
}

// write sends a message. The files stay the caller's. An error means that the other
// process has ended.
func (l *link) write(m message) error {
	m.Names = nil
	var fds []int
	for name, f := range m.files {
		m.Names = append(m.Names, name)
		fds = append(fds, descriptor(f))
	}
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("send %q: %w", m.Kind, err)
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	l.send.Lock()
	defer l.send.Unlock()
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, _, err = l.conn.WriteMsgUnix(framed, rights, nil); err == nil {
		_, err = l.conn.Write(body)
	}
	if err != nil {
		return fmt.Errorf("send %q: %w", m.Kind, err)
	}
	return nil
}

// await blocks until a message, or the end of the other process, can be read, and reads
// nothing.
func (l *link) await() {
	if conn, err := l.conn.SyscallConn(); err == nil { // else read says why
		_ = proc.AwaitInput(conn) // fails for a closed connection
	}
}

// read returns the next message. The error is io.EOF or ECONNRESET when the other process
// has ended.
func (l *link) read() (m message, err error) {
	var size [4]byte
	rights := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, rn, _, _, err := l.conn.ReadMsgUnix(size[:], rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return m, fmt.Errorf("receive: %w", err)
	}
	fds, err := received(rights[:rn])
	if err != nil {
		return m, err
	}
	if _, err := io.ReadFull(l.conn, size[n:]); err != nil {
		return m, fmt.Errorf("receive: %w", err)
	}
	length := binary.BigEndian.Uint32(size[:])
	if length > maxMessage {
		return m, fmt.Errorf("receive: a message of %d bytes", length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(l.conn, body); err != nil {
		return m, fmt.Errorf("receive: %w", err)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("receive: %w", err)
	}
	if len(fds) != len(m.Names) {
		return m, fmt.Errorf("receive %q: %d files for the names %q", m.Kind, len(fds), m.Names)
	}
	m.files = map[string]*os.File{}
	for i, name := range m.Names {
		m.files[name] = os.NewFile(uintptr(fds[i]), name)
	}
	return m, nil
}

// received returns the descriptors of a control message, which ReadMsgUnix has closed to
// children.
func received(rights []byte) (fds []int, err error) {
	all, err := unix.ParseSocketControlMessage(rights)
	for _, one := range all {
		some, errOne := unix.ParseUnixRights(&one)
		fds, err = slices.Concat(fds, some), errors.Join(err, errOne)
	}
	if err != nil {
		return nil, fmt.Errorf("receive files: %w", err)
	}
	return fds, nil
}

// descriptor returns the number of an open file and leaves its mode as it is: File.Fd
// would make a socket a blocking one, for all processes that share it.
func descriptor(f *os.File) int {
	fd := -1
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(n uintptr) { fd = int(n) }) // fails for a closed file, as sending -1 does
	}
	return fd
}

func closeAll(files map[string]*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
