//go:build !linux

package mounts

import "syscall"

// attributes keep a terminal's Ctrl-C from a server, which ends when its input does.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
