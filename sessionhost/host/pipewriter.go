package host

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// An outlet writes what there is to write to a pipe or a socket that the runtime
// polls. flush never waits for the other end: it writes what is taken at once,
// which nearly always is all, and leaves the rest to a goroutine that waits.
type pipeWriter struct {
	w    io.Writer
	conn syscall.RawConn              // of w
	next func() (p []byte, err error) // what is to be written next, empty when there is nothing; valid until the following call
	fail func(err error)              // told once, when nothing can be written any more

	mu   sync.Mutex
	busy bool // the goroutine is writing, or nothing can be written any more
}

// A polled is an *os.File that is a pipe, or a socket.
type pollable interface {
	io.Writer
	syscall.Conn
}

func newPipeWriter(w pollable, next func() ([]byte, error), fail func(error)) (*pipeWriter, error) {
	conn, err := w.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("write to %T: %w", w, err)
	}
	return &pipeWriter{w: w, conn: conn, next: next, fail: fail}, nil
}

// flush writes what there is. Whoever adds something calls it afterwards.
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

// try writes as much as is taken at once, which may be nothing.
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

// writeRest writes p and then what there is by then, until there is nothing.
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
