package supervisor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attributes puts a worker into a process group of its own. When the supervisor is killed, the kernel
// ends a worker that cannot notice that by itself, and would keep the lock of the state directory.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

var reloadOnly = unix.Sigset_t{Val: [16]uint64{1 << (unix.SIGHUP - 1)}}

// holdReload has a SIGHUP wait until a program that replaces this one asks for it. The signal stays
// blocked in the threads of that program, but for the one with which Go waits for signals.
func holdReload() { maskReload(unix.SIG_BLOCK) }

// letReload undoes holdReload.
func letReload() { maskReload(unix.SIG_UNBLOCK) }

// letReloadHere undoes holdReload for the present thread, and the programs that it starts.
func letReloadHere() { _ = unix.PthreadSigmask(unix.SIG_UNBLOCK, &reloadOnly, nil) } // the arguments are valid

// maskReload changes the mask of all threads; in a program with cgo, whose threads Go does not all
// know, only that of the present thread, so that a SIGHUP in the moment before an exec is lost.
func maskReload(how int) {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_RT_SIGPROCMASK, uintptr(how), uintptr(unsafe.Pointer(&reloadOnly)), 0, unsafe.Sizeof(reloadOnly.Val[0]), 0, 0)
	if errno != 0 {
		_ = unix.PthreadSigmask(how, &reloadOnly, nil) // the arguments are valid
	}
}
