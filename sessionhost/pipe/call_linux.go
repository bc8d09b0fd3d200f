package pipe

import (
	"syscall"
	"unsafe"
)

// The calls below bypass Go's scheduler, and must not block. After a pause, a call through
// the scheduler wakes the thread that looks for blocked calls, and both ends of a session
// pause in every turn.

func readNow(fd uintptr, p []byte) (int, error) { return callNow(syscall.SYS_READ, fd, p) }

// WriteNow calls write(2) once, for descriptors that do not block.
func WriteNow(fd uintptr, p []byte) (int, error) { return callNow(syscall.SYS_WRITE, fd, p) }

func callNow(call, fd uintptr, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
