package doctor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func fileSystem(s *unix.Statfs_t) string { return unix.ByteSliceToString(s.Fstypename[:]) }

// listener returns the advice to find the program that listens on a port.
func listener(port int) string {
	return fmt.Sprintf("another program (`lsof -nP -iTCP:%d -sTCP:LISTEN` names it)", port)
}

func syncData(f *os.File) error { return f.Sync() }
