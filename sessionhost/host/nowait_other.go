//go:build unix && !linux

package host

import "syscall"

func readNow(fd uintptr, p []byte) (int, error)  { return syscall.Read(int(fd), p) }
func writeNow(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }
