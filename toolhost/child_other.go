//go:build !linux

package toolhost

import "syscall"

// attributes keep a terminal's Ctrl-C from the tool host, which ends when its input does.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
