package doctor

import "golang.org/x/sys/unix"

// kindOf names the file systems that are bad for lasting data by their magic numbers:
// statfs(2), linux/magic.h.
func kindOf(magic uint32) string {
	switch magic {
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.SMB_SUPER_MAGIC:
		return "smbfs"
	case unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "cifs"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.CEPH_SUPER_MAGIC:
		return "ceph"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "afs"
	case unix.FUSE_SUPER_MAGIC:
		return "fuse"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.RAMFS_MAGIC:
		return "ramfs"
	}
	return ""
}

// fileSystem returns the kind of a directory's file system, and why the kind is bad for
// lasting data.
func fileSystem(dir string) (kind, why string) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return "", ""
	}
	kind = kindOf(uint32(s.Type))
	return kind, unfit(kind)
}
