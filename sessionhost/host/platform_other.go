//go:build unix && !linux

package host

import (
	"net"
	"os"
	"syscall"
)

// childAttr gives claude a process group of its own. Without a parent-death signal, the
// next daemon finds a claude without host by the record.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func reserveSpace(*os.File, int64) bool { return false }

func readNow(fd uintptr, p []byte) (int, error)  { return syscall.Read(int(fd), p) }
func writeNow(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }

// A socket is the host's end of the connection to a daemon.
type socket struct{ *net.UnixConn }

func newSocket(c *net.UnixConn) (*socket, error) { return &socket{c}, nil }
