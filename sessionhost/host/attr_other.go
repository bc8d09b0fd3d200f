//go:build unix && !linux

package host

import "syscall"

// childAttr gives claude a process group of its own. There is no parent-death
// signal here: a claude whose host died is found by the host's record.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
