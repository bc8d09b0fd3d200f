package host

import "syscall"

// childAttr gives claude a process group of its own, and ends it when the host
// dies: the end of its input alone would leave it at work.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
