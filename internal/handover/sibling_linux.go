package handover

import "syscall"

// makeSibling has the process started as a child of our parent, and reports
// whether that can be.
func makeSibling(a *syscall.SysProcAttr) bool {
	a.Cloneflags |= syscall.CLONE_PARENT
	return true
}
