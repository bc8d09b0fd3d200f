package proc

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

func conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process to others: %w", err)
	}
	return nil
}

func closeOne(fd int) { _ = unix.Close(fd) }

// closeFrom marks what cannot be listed: it ends with the next exec.
func closeFrom(fd int) {
	_ = unix.CloseRange(uint(fd), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // fails before Linux 5.11
}
