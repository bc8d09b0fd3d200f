// Package privatedir makes and checks directories for the gateway's user alone.
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
	// maxSocketPath is the shortest sun_path of the supported systems (macOS), without its
	// NUL.
	maxSocketPath = 103
	// longestSocketName is as long as the name of any socket in the runtime directory.
	longestSocketName = "0123456789abcdef01234567.sock"
	// MaxSocketDir is the length of the longest path of a directory for sockets, in bytes.
	MaxSocketDir = maxSocketPath - 1 - len(longestSocketName)
)

// CheckSocketDir returns an error if the paths of sockets in the directory would be too
// long for the system.
func CheckSocketDir(dir string) error {
	if len(dir) > MaxSocketDir {
		return fmt.Errorf("its path has %d bytes, and with more than %d there is no room for the name of a socket", len(dir), MaxSocketDir)
	}
	return nil
}

// Make makes a directory that only this user can enter. An existing directory that others
// can enter stays as it is; the error names the command, or the variable, that mends the
// problem.
func Make(dir, variable string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case known && int(stat.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user (uid %d); set %s to another directory", dir, stat.Uid, variable)
	case mode == 0o700:
		return nil
	case Shared(dir, info):
		return fmt.Errorf("%s has mode %04o and holds what is not the gateway's; set %s to a directory of its own, as %s",
			dir, mode, variable, filepath.Join(dir, "bareclaw"))
	default:
		return fmt.Errorf("%s has mode %04o, and must be open to this user alone: chmod 700 %s", dir, mode, dir)
	}
}

// Shared reports whether a directory serves more than the gateway, so that mode 0700 would
// shut others out: a directory for temporary files of all users, or with entries of which
// no gateway made any.
func Shared(dir string, info fs.FileInfo) bool {
	if info.Mode()&fs.ModeSticky != 0 || info.Mode().Perm()&0o002 != 0 {
		return true
	}
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) > 0 && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == "daemon.lock" || e.Name() == "ledger.db" || strings.HasSuffix(e.Name(), ".sock") || e.Name() == "hosts"
	})
}
