package host

import (
	"syscall"
	"unsafe"
)

// The scheduler is not told of these calls, which must not block. After a pause each
// announced call wakes the thread that looks for blocked calls, and a host pauses in every
// turn.

func readNow(fd uintptr, p []byte) (int, error)  { return callNow(syscall.SYS_READ, fd, p) }
func writeNow(fd uintptr, p []byte) (int, error) { return callNow(syscall.SYS_WRITE, fd, p) }

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
