package proc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper makes this process the parent of orphaned descendants, also after exec.
func BecomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	return nil
}
