//go:build !linux

package mounts

import (
	"os/exec"
	"syscall"
)

// attributes keep a terminal's Ctrl-C from a server, which ends when its input does.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitAndSweep is Wait, and ends what is left of the process group.
func waitAndSweep(cmd *exec.Cmd) error {
	err := cmd.Wait()
	killGroup(cmd.Process.Pid)
	return err
}
