package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserve has the file system keep room for n more bytes at the end of a file, whose size
// stays as it is. Where that cannot be, there is room as long as the disk has some.
func reserveSpace(f *os.File, n int64) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), n)
}
