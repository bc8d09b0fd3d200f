package proc

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// BootID returns an identifier that is new after every boot of the machine.
func BootID() (string, error) {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	return id, nil
}

func startTime(pid int) (uint64, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	// The kernel answers with nothing for an id that is not in use, which
	// x/sys reports as EIO.
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) {
		return 0, os.ErrProcessDone
	}
	if err != nil {
		return 0, err
	}
	if int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return 0, os.ErrProcessDone
	}
	started := info.Proc.P_starttime
	return uint64(started.Sec)*1e6 + uint64(started.Usec), nil
}

func waitGone(ctx context.Context, pid int, start uint64) error {
	return waitByPolling(ctx, pid, start)
}

// AwaitExit returns at once: here os.Process.Wait does without it.
func AwaitExit(*os.Process) {}

// EnvironValues is not supported here: macOS shows the environment of a process
// only for some programs. The error is [errors.ErrUnsupported].
func EnvironValues(name string) (map[Process]string, error) {
	return nil, fmt.Errorf("processes with %s in their environment: %w", name, errors.ErrUnsupported)
}
