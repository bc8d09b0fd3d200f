package toolhost

import "syscall"

// attributes make the tool host end with the daemon, even if the tool host hangs, and keep a
// terminal's Ctrl-C from the tool host.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
