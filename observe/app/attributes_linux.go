package app

import (
	"os/exec"
	"syscall"

	"bareclaw/internal/proc"
)

// attributes make the app end with the observer. In the foreground it stays in the process group of
// the terminal, else it gets one of its own.
func attributes(foreground bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: !foreground, Pdeathsig: syscall.SIGTERM}
}

// waitAndSweep is Wait, and calls sweep before it: what the command has left would hold its output open.
func waitAndSweep(cmd *exec.Cmd, sweep func()) error {
	proc.AwaitExit(cmd.Process)
	sweep()
	return cmd.Wait()
}
