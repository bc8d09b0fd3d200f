package proc

import (
	"errors"
	"fmt"
	"os"
	ossignal "os/signal"
	"syscall"
)

// RunAsInit makes this process, which is process 1 of a container, a small init: RunAsInit
// starts the program once more as its only child, forwards signals to the child, and
// collects processes whose parents have ended until the child ends. The result is the exit
// status of the child, or 128 and the number of the signal that has killed the child.
func RunAsInit() (status int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program's file: %w", err)
	}
	signals := make(chan os.Signal, 16)
	ossignal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGUSR1, syscall.SIGUSR2)
	child, err := syscall.ForkExec(self, os.Args, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},                  // further files stay open
		Sys:   &syscall.SysProcAttr{Setpgid: true}, // a terminal's Ctrl-C comes once, forwarded
	})
	if err != nil {
		return 0, fmt.Errorf("start %s as a child of process 1: %w", self, err)
	}
	go func() { // ends with the process
		for sig := range signals {
			_ = syscall.Kill(child, sig.(syscall.Signal)) // the child may have ended
		}
	}()
	for {
		var ended syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ended, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for children: %w", err)
		case pid != child: // an orphan
		case ended.Signaled():
			return 128 + int(ended.Signal()), nil
		default:
			return ended.ExitStatus(), nil
		}
	}
}
