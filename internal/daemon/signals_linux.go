package daemon

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// blockSignals blocks the signals that a keeper forwards in this thread, which the caller
// has locked. The function that is returned restores the mask.
func blockSignals() (restore func(), err error) {
	var block, before unix.Sigset_t
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2} {
		block.Val[0] |= 1 << (uint(sig) - 1)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &block, &before); err != nil {
		return nil, fmt.Errorf("block signals: %w", err)
	}
	return func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }, nil
}
