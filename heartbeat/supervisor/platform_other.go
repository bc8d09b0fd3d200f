//go:build unix && !linux

package supervisor

import (
	"os/signal"
	"syscall"
)

// attributes puts a worker into a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// holdReload keeps a SIGHUP from ending the program that replaces this one, until that asks for the
// signal: an ignored signal stays ignored. One that comes meanwhile is lost.
func holdReload() { signal.Ignore(syscall.SIGHUP) }

// letReload does nothing: the supervisor asks for the signal again.
func letReload() {}
