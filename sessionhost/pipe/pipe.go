// Package pipe reads and writes the pipes and sockets that connect daemon, session host and
// claude, with fewer wake-ups of threads and processes than packages os and net cause.
package pipe

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// A Reader reads a pipe or a socket that the runtime polls, with less work for the
// scheduler than their Read methods: see readNow.
type Reader struct {
	conn syscall.RawConn // waits
	read func(fd uintptr, p []byte) (int, error)
}

// NewReader returns a Reader of c.
func NewReader(c syscall.Conn) Reader {
	conn, _ := c.SyscallConn() // fails for nil alone
	return Reader{conn, readNow}
}

// Read waits for input.
func (i Reader) Read(p []byte) (n int, err error) {
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

// A Writer writes to a pipe or a socket that the runtime polls. Flush never waits for
// the other end: it writes as much as fits, nearly always everything, and leaves the rest
// to a waiting goroutine.
type Writer struct {
	w    io.Writer
	conn syscall.RawConn // of w
	next func() (p []byte, err error)
	fail func(err error)

	mu   sync.Mutex
	busy bool // the goroutine writes, or the other end is lost
}

// A pollable is an *os.File of a pipe, or a socket.
type pollable interface {
	io.Writer
	syscall.Conn
}

// NewWriter returns a Writer to w. next returns the next bytes to write, none if nothing is
// pending, which are valid until the following call. fail is called once, when the other end
// is lost.
func NewWriter(w pollable, next func() ([]byte, error), fail func(error)) *Writer {
	conn, _ := w.SyscallConn() // fails for nil alone
	return &Writer{w: w, conn: conn, next: next, fail: fail}
}

// Flush writes the pending bytes. It is called after each addition.
func (o *Writer) Flush() {
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
func (o *Writer) try(p []byte) (n int, err error) {
	closed := o.conn.Write(func(fd uintptr) (done bool) {
		n, err = WriteNow(fd, p)
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
func (o *Writer) writeRest(p []byte) {
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
