package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/core/config"
	"bareclaw/internal/detached"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/logfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestLogsOfTheJournal asks a journalctl for the unit that the gateway was part of.
func TestLogsOfTheJournal(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Installed()
	script := "#!/bin/sh\necho \"$@\"\nprintf 'colour \\033[31m\\n'\n"
	m.Write("bin/journalctl", script, 0o700)
	lock, err := lockfile.AcquireState(m.Path("state"))
	check.OK(t, err)
	defer lock.Release()
	check.OK(t, lock.Describe(lockfile.Holder{PID: os.Getpid(), Log: lockfile.LogLocation{Unit: "--user-unit=claw.service"}}))
	m.Command(exitcode.OK, "logs", "-n", "7").Prints("--no-pager --quiet --output=cat --user-unit=claw.service --lines=7\ncolour \uFFFD[31m\n")
	m.Command(exitcode.OK, "logs", "-f").Shows("--follow")
	m.Write("bin/journalctl", "#!/bin/sh\nexit 1\n", 0o700)
	m.Command(exitcode.Failed, "logs").Tells("ask the journal")
}

// TestLogOfADetachedGateway has stderr be the log, as where no service manager keeps
// it: each line is there once, also after another process has taken over a log that
// was rotated.
func TestLogOfADetachedGateway(t *testing.T) {
	t.Parallel()
	for _, where := range []string{config.LogFileAuto, config.LogFileOff, "elsewhere/claw.log"} {
		t.Run(filepath.Base(where), func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			usual := m.Path("state/" + logfile.Name)
			path := usual
			if strings.Contains(where, "/") {
				where = m.Path(where)
				path = where
			}
			m.Env = append(m.Env, "BARECLAW_LOG_FILE="+where)
			if _, err := (detached.Gateway{Self: m.Executable(), Dir: m.Path("work"), Environ: m.Env, Log: usual}).Start(); err != nil {
				t.Fatal(err)
			}
			said := func(what string) int {
				b, _ := os.ReadFile(path) // it may not be there yet
				return strings.Count(string(b), what)
			}
			m.Eventually("it is ready", func() bool { return said(`"msg":"ready"`) > 0 })
			if n := said(`"msg":"ready"`); n != 1 {
				t.Errorf("it says %d times that it is ready", n)
			}
			check.OK(t, os.Rename(path, logfile.Old(path, 1))) // as the rotation by another one does
			m.Command(exitcode.OK, "restart")
			m.Eventually("the second process is ready", func() bool { return said(`"msg":"ready"`) > 0 })
			if n := said(`"msg":"ready"`); n != 1 {
				t.Errorf("the second process says %d times that it is ready", n)
			}
			if b, err := os.ReadFile(usual); path != usual && (err != nil || len(b) != 0) {
				t.Errorf("%s is %q, %v", logfile.Name, b, err)
			}
			h := m.LockFile()
			if path == usual {
				if out, err := os.Stat(fmt.Sprintf("/proc/%d/fd/2", h.PID)); err == nil { // where the system shows it
					if now, err := os.Stat(path); err != nil || !os.SameFile(out, now) {
						t.Errorf("a panic would go elsewhere than to %s", path)
					}
				}
			}
			check.OK(t, proc.Signal(h.PID, h.Start, syscall.SIGTERM))
			m.Eventually("it has left", func() bool { return said(`"msg":"ended"`) > 0 })
			if n := said(`"msg":"ended"`); n != 1 {
				t.Errorf("it says %d times that it has ended", n)
			}
		})
	}
}
