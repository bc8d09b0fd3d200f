package host

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childAttr gives claude a process group of its own, and has the kernel end claude when the
// host dies, because claude would go on working after the end of its input.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// reserveSpace has the file system keep room for n more bytes at the end of a file without
// changing its size, and reports whether the file system does.
func reserveSpace(f *os.File, n int64) bool {
	info, err := f.Stat()
	return err == nil && unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), n) == nil
}

// The calls below bypass Go's scheduler, and must not block. After a pause, a call through
// the scheduler wakes the thread that looks for blocked calls, and a host pauses in every
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
