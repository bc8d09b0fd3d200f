package host

import (
	"os"
	"syscall"

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
