package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// badFileSystems names the file systems that are bad for lasting data by their magic numbers:
// statfs(2), linux/magic.h.
var badFileSystems = map[uint32]string{
	unix.NFS_SUPER_MAGIC: "nfs", unix.SMB_SUPER_MAGIC: "smbfs", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "cifs",
	unix.V9FS_MAGIC: "9p", unix.CEPH_SUPER_MAGIC: "ceph", unix.AFS_SUPER_MAGIC: "afs", unix.AFS_FS_MAGIC: "afs",
	unix.FUSE_SUPER_MAGIC: "fuse", unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs",
}

func fileSystem(s *unix.Statfs_t) string { return badFileSystems[uint32(s.Type)] }

// listener names the program that listens on a TCP port of the machine, empty if
// unknown: only root sees the sockets of other users.
func listener(port int) string {
	sockets := listening(port)
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if len(sockets) == 0 || err != nil {
		return ""
	}
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil || !sockets[target] {
			continue
		}
		process := filepath.Dir(filepath.Dir(fd))
		name, _ := os.ReadFile(process + "/comm") // without a name, the process id suffices
		return fmt.Sprintf("%s (pid %s)", strings.TrimSpace(string(name)), filepath.Base(process))
	}
	return ""
}

// listening returns the sockets that listen on a port, in the form of the links in
// /proc/PID/fd: proc_pid_net(5).
func listening(port int) map[string]bool {
	const (
		localField, stateField, inodeField = 1, 3, 9
		listen                             = "0A"
	)
	suffix := fmt.Sprintf(":%04X", port)
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue // the system has no IPv6
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > inodeField && f[stateField] == listen && strings.HasSuffix(f[localField], suffix) {
				sockets["socket:["+f[inodeField]+"]"] = true
			}
		}
	}
	return sockets
}

func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
