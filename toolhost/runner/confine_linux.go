package runner

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"bareclaw/toolhost/api"
)

const (
	// maxData bounds the memory of the process, in bytes: some thirty calls may take all that a
	// call can. RLIMIT_AS cannot bound it: a Go process reserves more than a gigabyte of addresses.
	maxData = 2 << 30
	// maxFiles is the number of files that may be open at once.
	maxFiles = 1024
)

// confine takes all rights from the process but to compute, to read the tools directory, and to talk
// over the connections that it has. Two parts of the kernel see to that: a filter of system calls, which
// refuses on every kernel whatever has no rule, and Landlock, which decides what can be read. Without
// Landlock the script engine is the wall before the user's files. Without the filter no tool runs.
func confine(boot api.Bootstrap, log *slog.Logger) error {
	for resource, limit := range map[int]uint64{unix.RLIMIT_DATA: maxData, unix.RLIMIT_NOFILE: maxFiles, unix.RLIMIT_CORE: 0} {
		var now unix.Rlimit
		err := unix.Getrlimit(resource, &now)
		if err == nil {
			limit = min(limit, now.Max) // which cannot be raised
			err = unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit})
		}
		if err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
	}
	// Landlock does this too, but only where the kernel has it.
	if err := landlocksys.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("renounce privileges: %w", err)
	}
	const read = landlocksys.AccessFSReadFile | landlocksys.AccessFSReadDir
	rules := []landlock.Rule{
		landlock.PathAccess(read, "/usr/share/zoneinfo").IgnoreIfMissing(),
		landlock.PathAccess(landlocksys.AccessFSReadFile, "/etc/localtime").IgnoreIfMissing(),
	}
	// Without a directory there is nothing to read, and no rule must fail on that.
	for _, dir := range []string{boot.ToolsDir, boot.GoodDir} {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			rules = append(rules, landlock.PathAccess(read, dir))
		}
	}
	if err := landlock.V10.BestEffort().Restrict(rules...); err != nil { // first: the filter refuses the calls for that
		log.Warn("the kernel does not confine the tool host as it should", "err", err)
	}
	return restrictCalls() // without it nothing would keep scripts from the rest of the machine
}
