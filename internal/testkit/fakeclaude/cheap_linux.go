package main

import (
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// A hundred fake claudes share the machine with the program under measurement, each
// idle between two messages. Around a system call that may block, Go's scheduler
// wakes its monitor thread, which costs more than all the rest. So epoll waits for
// stdin, and raw system calls bypass the scheduler; they can hold up only the one
// goroutine that there is.

// eachChunk gives take what arrives on stdin, until that ends or take fails.
func eachChunk(stdin io.Reader, take func(chunk []byte) error) error {
	f, ok := stdin.(*os.File)
	if !ok {
		return readChunks(stdin, take)
	}
	runtime.GOMAXPROCS(1)
	p := poller{buf: make([]byte, chunkBytes), take: take}
	if !p.poll(f) {
		return readChunks(f, take) // not a pipe or a socket
	}
	return p.err
}

// A poller reads a pipe or a socket.
type poller struct {
	buf  []byte
	take func(chunk []byte) error
	err  error // of take
}

// poll reads to the end, unless f is nothing to wait for.
func (p *poller) poll(f *os.File) bool {
	fd := int(f.Fd())
	if syscall.SetNonblock(fd, true) != nil {
		return false
	}
	conn, err := os.NewFile(uintptr(fd), f.Name()).SyscallConn()
	return err == nil && conn.Read(p.readAll) == nil
}

// readAll takes what there is and reports whether that was the end.
func (p *poller) readAll(fd uintptr) (end bool) {
	for {
		n, errno := cheaply(syscall.SYS_READ, fd, p.buf)
		if errno == syscall.EAGAIN {
			return false
		}
		if n == 0 {
			return true
		}
		if p.err = p.take(p.buf[:n]); p.err != nil {
			return true
		}
		if n < len(p.buf) {
			return false // that was all: epoll(7), question 9
		}
	}
}

// write writes all of p.
func write(stdout io.Writer, p []byte) error {
	if f, ok := stdout.(*os.File); ok {
		n, _ := cheaply(syscall.SYS_WRITE, f.Fd(), p)
		p = p[n:] // an error will be met again
	}
	if len(p) == 0 {
		return nil
	}
	_, err := stdout.Write(p)
	return err
}

func cheaply(call, fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
