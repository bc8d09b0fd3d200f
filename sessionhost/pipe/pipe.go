package host

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// A pipeReader reads a pipe or a socket that the runtime polls, with less work for the
// scheduler than their Read methods: see readNow.
type pipeReader struct {
	conn syscall.RawConn // waits
	read func(fd uintptr, p []byte) (int, error)
}

func newPipeReader(c syscall.Conn) pipeReader {
	conn, _ := c.SyscallConn() // fails for nil alone
	return pipeReader{conn, readNow}
}

// Read waits for input.
func (i pipeReader) Read(p []byte) (n int, err error) {
	waitErr := i.conn.Read(func(fd uintptr) (done bool) {
		n, err = i.read(fd, p)
		return !errors.Is(err, syscall.EAGAIN)
	})
	switch {
	case waitErr != nil:
		return 0, waitErr
	case n == 0 && err == nil && len(p) > 0:
		return 0, io.EOF
	}
	return max(n, 0), err
}

// A pipeWriter writes to a pipe or a socket that the runtime polls. flush never waits for
// the other end: it writes as much as fits, nearly always everything, and leaves the rest
// to a waiting goroutine.
type pipeWriter struct {
	w    io.Writer
	conn syscall.RawConn              // of w
	next func() (p []byte, err error) // the next bytes to write, empty if none; valid until the following call
	fail func(err error)              // called once, when the other end is lost

	mu   sync.Mutex
	busy bool // the goroutine writes, or the other end is lost
}

// A pollable is an *os.File of a pipe, or a socket.
type pollable interface {
	io.Writer
	syscall.Conn
}

func newPipeWriter(w pollable, next func() ([]byte, error), fail func(error)) *pipeWriter {
	conn, _ := w.SyscallConn() // fails for nil alone
	return &pipeWriter{w: w, conn: conn, next: next, fail: fail}
}

// flush writes the pending bytes. It is called after each addition.
func (o *pipeWriter) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.busy {
		p, err := o.next()
		if len(p) == 0 && err == nil {
			return
		}
		n := 0
		if err == nil {
			n, err = o.try(p)
		}
		if err != nil {
			o.busy = true
			o.fail(err)
		} else if n < len(p) {
			o.busy = true
			go o.writeRest(p[n:]) // ends when the other end has caught up, or is gone
		}
	}
}

// try writes as much as fits at once, perhaps nothing.
func (o *pipeWriter) try(p []byte) (n int, err error) {
	closed := o.conn.Write(func(fd uintptr) (done bool) {
		n, err = writeNow(fd, p)
		return true
	})
	switch {
	case closed != nil:
		return 0, closed
	case errors.Is(err, syscall.EAGAIN):
		return 0, nil
	}
	return n, err
}

// writeRest writes p and all further bytes until none is pending.
func (o *pipeWriter) writeRest(p []byte) {
	for len(p) > 0 {
		_, err := o.w.Write(p)
		o.mu.Lock()
		if err == nil {
			p, err = o.next()
		}
		o.busy = len(p) > 0 || err != nil
		o.mu.Unlock()
		if err != nil {
			o.fail(err)
			return
		}
	}
}
