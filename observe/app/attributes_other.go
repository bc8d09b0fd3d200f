//go:build !linux

package app

import (
	"os/exec"
	"syscall"
)

// attributes give the app a process group of its own, unless it is in the foreground of a terminal.
func attributes(foreground bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: !foreground}
}

// waitAndSweep is Wait, and calls sweep after it.
func waitAndSweep(cmd *exec.Cmd, sweep func()) error {
	defer sweep()
	return cmd.Wait()
}
