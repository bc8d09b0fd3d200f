package host

import "syscall"

// childAttr gives claude a process group of its own, and has the kernel end claude when the
// host dies: without its input alone claude would go on working.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
