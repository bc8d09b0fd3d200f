package mounts

import (
	"os/exec"
	"syscall"

	"bareclaw/internal/proc"
)

// attributes make a server end with the gateway, and keep a terminal's Ctrl-C from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitAndSweep is Wait, and ends what is left of the process group, before another one can have its number.
func waitAndSweep(cmd *exec.Cmd) error {
	proc.AwaitExit(cmd.Process)
	killGroup(cmd.Process.Pid)
	return cmd.Wait()
}
