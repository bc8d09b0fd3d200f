package memory

import (
	"os"

	"golang.org/x/sys/unix"
)

func total() uint64 { return lesser(machine(), limit(os.DirFS("/"))) }

// machine returns the bytes of the machine's memory; 0 means unknown.
func machine() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits wide on some machines
}
