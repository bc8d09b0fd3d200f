package mounts

import "syscall"

// attributes make a server end with the gateway, and keep a terminal's Ctrl-C from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
