package runner

import (
	"fmt"
	"log/slog"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

const (
	// maxData bounds the memory of the process, in bytes. RLIMIT_AS cannot: a Go process
	// reserves more than a gigabyte of addresses.
	maxData = 1 << 30
	// maxFiles is the number of files that may be open at once.
	maxFiles = 1024
)

// confine takes all rights from the process but to read the tools directory. The kernel then
// refuses writing, programs and TCP; without Landlock the script engine alone is the wall.
func confine(toolsDir string, log *slog.Logger) error {
	for resource, limit := range map[int]uint64{unix.RLIMIT_DATA: maxData, unix.RLIMIT_NOFILE: maxFiles, unix.RLIMIT_CORE: 0} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
	}
	err := landlock.V5.BestEffort().Restrict(
		landlock.RODirs(toolsDir),
		landlock.RODirs("/usr/share/zoneinfo").IgnoreIfMissing(),
		landlock.ROFiles("/etc/localtime").IgnoreIfMissing(),
	)
	if err != nil {
		log.Warn("the kernel does not confine the tool host", "err", err)
	}
	return nil
}
