package host

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// A pipeReader reads a pipe or a socket that the runtime polls, with less work for the
// scheduler than their Read methods: see readNow.
type pipeReader struct {
	conn syscall.RawConn // waits
	read func(fd uintptr, p []byte) (int, error)
}

func newPipeReader(c syscall.Conn) (pipeReader, error) {
	conn, err := c.SyscallConn()
	if err != nil {
		return pipeReader{}, fmt.Errorf("read from %T: %w", c, err)
	}
	return pipeReader{conn, readNow}, nil
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
