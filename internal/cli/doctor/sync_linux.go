package doctor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// unnamedFile opens a file without a name in the directory.
func unnamedFile(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a file without a name in %s: %w", dir, err)
	}
	return os.NewFile(uintptr(fd), dir), nil
}

func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
