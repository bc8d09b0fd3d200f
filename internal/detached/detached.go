// Package detached starts a gateway that outlives the starting process, on machines
// without a service manager. The new gateway inherits only settings. Output of the
// process, for example a panic, is appended to the gateway's log.
package detached

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"bareclaw/internal/logfile"
)

// A Gateway describes the gateway to start.
type Gateway struct {
	Self    string   // path of the program
	Dir     string   // working directory; empty: the current directory
	Environ []string // environment
	Log     string   // path of the log in the state directory

	// Prepare, if not nil, is called with the process id before the program begins. The
	// gateway starts regardless of the outcome.
	Prepare func(pid int)
}

// A Process is a started gateway.
type Process struct {
	Ended <-chan error // receives the result of the process once

	log   string
	began int64 // size of the log before the start
}

// Start starts a gateway and returns at once. Start creates a missing log.
func (g Gateway) Start() (*Process, error) {
	log, err := logfile.OpenAppend(g.Log)
	if err != nil {
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	defer func() { _ = log.Close() }()
	st, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	cmd := exec.Command(g.Self, "serve")
	if g.Prepare != nil {
		// The shell waits for the end of the input, then executes the program.
		cmd = exec.Command("/bin/sh", "-c", `read -r _; exec "$0" serve </dev/null`, g.Self)
		hold, err := cmd.StdinPipe()
		if err != nil {
			return nil, fmt.Errorf("start the gateway: %w", err)
		}
		defer func() {
			if cmd.Process != nil {
				g.Prepare(cmd.Process.Pid)
			}
			_ = hold.Close()
		}()
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.Dir, environ(g.Environ), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the gateway, or with the starting process
	return &Process{Ended: ended, log: g.Log, began: st.Size()}, nil
}

// LastLine returns the last line written to the log since the start, empty if none was
// written.
func (p *Process) LastLine() string {
	said := logfile.Since(p.log, p.began)
	return said[strings.LastIndexByte(said, '\n')+1:]
}

// environ removes the variables by which a service manager addresses the starting
// process, because the new gateway must not answer in its place.
func environ(of []string) []string {
	return slices.DeleteFunc(slices.Clone(of), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
			"INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "XPC_SERVICE_NAME":
			return true
		}
		return false
	})
}
