//go:build !linux

package handover

import "syscall"

// makeSibling has the process started as a child of our parent, and reports
// whether that can be.
func makeSibling(*syscall.SysProcAttr) bool { return false }
