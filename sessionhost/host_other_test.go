//go:build !linux

package sessionhost

import (
	"os/exec"
	"strconv"
	"strings"
)

func writeTracer(string) error { return nil }

// awaitStopped waits until a process that was sent SIGSTOP has stopped.
func awaitStopped(st *station, pid int) {
	st.t.Helper()
	st.eventually("it is stopped", func() bool {
		state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
		return err == nil && strings.HasPrefix(strings.TrimSpace(string(state)), "T")
	})
}
