// Package privatedir looks after the directories that only the gateway's user may enter.
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
	// maxSocketPath is the shortest sun_path of the systems we run on (macOS), less its NUL.
	maxSocketPath = 103
	// longestSocketName is as long as the name of any socket in the runtime directory.
	longestSocketName = "0123456789abcdef01234567.sock"
	// MaxSocketDir is how many bytes the path of a directory may have that sockets are in.
	MaxSocketDir = maxSocketPath - 1 - len(longestSocketName)
)

// CheckSocketDir returns an error if the path of a socket in that directory would be too
// long for the system.
func CheckSocketDir(dir string) error {
	if len(dir) > MaxSocketDir {
		return fmt.Errorf("its path has %d bytes, and with more than %d there is no room for the name of a socket", len(dir), MaxSocketDir)
	}
	return nil
}

// Make makes a directory that only this user can enter. One that is there already, and
// that others can enter, is left as it is: the error says how that is mended, by a command
// or by another value of the variable that names the directory.
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

// Shared reports whether a directory serves others than the gateway, who would be shut
// out with a mode of 0700: it is for everybody's temporary files, or has entries and none
// that a gateway makes.
func Shared(dir string, info fs.FileInfo) bool {
	if info.Mode()&fs.ModeSticky != 0 || info.Mode().Perm()&0o002 != 0 {
		return true
	}
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) > 0 && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == "daemon.lock" || e.Name() == "ledger.db" || strings.HasSuffix(e.Name(), ".sock") || e.Name() == "hosts"
	})
}
