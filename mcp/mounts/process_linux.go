package mounts

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"bareclaw/internal/proc"
)

// attributes make a server end with the gateway, and keep a terminal's Ctrl-C from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitAndSweep is Wait, and ends what is left of the process group, before another one can have its number.
func waitAndSweep(cmd *exec.Cmd) error {
	proc.AwaitExit(cmd.Process) // occupies no thread, and returns at once where there are no pidfds
	for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue
	}
	killGroup(cmd.Process.Pid)
	return cmd.Wait()
}
