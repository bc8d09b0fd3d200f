// Package privatedir creates and checks directories private to the gateway's user, and opens sockets in them.
package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	// maxSocketPath is the length of the shortest sun_path of the supported systems
	// (macOS), without the terminating NUL.
	maxSocketPath = 103
	// longestSocketName has the length of the longest socket name in the runtime
	// directory.
	longestSocketName = "0123456789abcdef01234567.sock"
	// MaxSocketDir bounds the length, in bytes, of the path of a directory for sockets.
	MaxSocketDir = maxSocketPath - 1 - len(longestSocketName)
)

// CheckSocketDir returns an error if socket paths in the directory would exceed the
// system's limit.
func CheckSocketDir(dir string) error {
	if len(dir) > MaxSocketDir {
		return fmt.Errorf("its path has %d bytes, and with more than %d there is no room for the name of a socket", len(dir), MaxSocketDir)
	}
	return nil
}

// Make creates a directory with mode 0700. Make follows no symbolic link to it, and does not
// change an existing directory that other users own or can enter; the error names the command or the variable for a
// remedy.
func Make(dir, variable string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir) // where all may write, another user's link could lead elsewhere later
	if err != nil {
		return err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link; set %s to a directory", dir, variable)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case known && int(stat.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user (uid %d); set %s to another directory", dir, stat.Uid, variable)
	case mode == 0o700:
		return nil
	case Shared(dir, info):
		return fmt.Errorf("%s has mode %04o and holds files of other programs; set %s to a directory for the gateway alone, such as %s",
			dir, mode, variable, filepath.Join(dir, "bareclaw"))
	default:
		return fmt.Errorf("%s has mode %04o, and must be open to this user alone: chmod 700 %s", dir, mode, dir)
	}
}

// Shared reports whether mode 0700 would lock other users out of a directory in common
// use: a directory for temporary files of all users, or a non-empty directory without
// entries made by a gateway.
func Shared(dir string, info fs.FileInfo) bool {
	if info.Mode()&fs.ModeSticky != 0 || info.Mode().Perm()&0o002 != 0 {
		return true
	}
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) > 0 && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == "daemon.lock" || e.Name() == "ledger.db" || strings.HasSuffix(e.Name(), ".sock") || e.Name() == "hosts"
	})
}
