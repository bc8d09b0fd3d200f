package proc

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadableVariable has Conceal do nothing. Tests of ordinary users set it: they find the processes
// of a gateway by their environment.
const ReadableVariable = "BARECLAW_TEST_READABLE"

// Conceal closes /proc/PID/environ and the memory of this process, in which tokens are, to other
// processes of its user. An exec undoes that. Conceal does nothing on systems other than Linux.
func Conceal() error {
	if os.Getenv(ReadableVariable) != "" {
		return nil
	}
	return conceal()
}

// CloseInherited closes the descriptors that this process has inherited, except 0 to 2 and the next
// keep ones, so that no child gets them. Call it before the process opens descriptors without
// close-on-exec.
//
// A descriptor that came through exec has no close-on-exec flag; those that this program opens
// have one.
func CloseInherited(keep int) {
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil { // nothing is mounted there
		closeFrom(3 + keep)
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3+keep {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			closeOne(fd)
		}
	}
}
