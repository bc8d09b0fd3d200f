package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserveSpace has the file system keep room for n more bytes at the end of a file without
// changing its size. Without such support the room is not guaranteed.
func reserveSpace(f *os.File, n int64) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), n)
}
