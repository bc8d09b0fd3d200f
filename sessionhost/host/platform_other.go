//go:build unix && !linux

package host

import (
	"os"
	"syscall"
)

// childAttr gives claude a process group of its own. Without a parent-death signal, the
// next daemon finds a claude without host by the record.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func reserveSpace(*os.File, int64) bool { return false }
