package supervisor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts a worker into a process group of its own. When the supervisor is killed, the kernel
// ends a worker that cannot notice that by itself, and would keep the lock of the state directory.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

var reloadOnly = unix.Sigset_t{Val: [16]uint64{1 << (unix.SIGHUP - 1)}}

// holdReload keeps a SIGHUP from ending the program that replaces this one, until that asks for the
// signal: where only the present thread is left, a blocked signal waits. In the new program it stays
// blocked in all threads but the one with which Go waits for signals.
func holdReload() { _ = unix.PthreadSigmask(unix.SIG_BLOCK, &reloadOnly, nil) } // the arguments are valid

// letReload undoes holdReload, for the present thread and the programs that it starts.
func letReload() { _ = unix.PthreadSigmask(unix.SIG_UNBLOCK, &reloadOnly, nil) } // the arguments are valid
