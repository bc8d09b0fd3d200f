package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/core/config"
	"bareclaw/internal/detached"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/logfile"
	"bareclaw/internal/proc"
)

// TestLogsOfTheJournal asks a journalctl for the unit that the gateway was part of.
func TestLogsOfTheJournal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.installed()
	script := "#!/bin/sh\necho \"$@\"\nprintf 'colour \\033[31m\\n'\n"
	m.write("bin/journalctl", script, 0o700)
	lock, err := lockfile.AcquireState(m.path("state"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := lock.Describe(lockfile.Holder{PID: os.Getpid(), Log: lockfile.LogLocation{Unit: "--user-unit=claw.service"}}); err != nil {
		t.Fatal(err)
	}
	m.command(exitcode.OK, "logs", "-n", "7").prints("--no-pager --quiet --output=cat --user-unit=claw.service --lines=7\ncolour \uFFFD[31m\n")
	m.command(exitcode.OK, "logs", "-f").shows("--follow")
	m.write("bin/journalctl", "#!/bin/sh\nexit 1\n", 0o700)
	m.command(exitcode.Failed, "logs").tells("ask the journal")
}

// TestLogOfADetachedGateway has stderr be the log, as where no service manager keeps
// it: each line is there once, also after another process has taken over a log that
// was rotated.
func TestLogOfADetachedGateway(t *testing.T) {
	t.Parallel()
	for _, where := range []string{config.LogFileAuto, config.LogFileOff, "elsewhere/claw.log"} {
		t.Run(filepath.Base(where), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			usual := m.path("state/" + logfile.Name)
			path := usual
			if strings.Contains(where, "/") {
				where = m.path(where)
				path = where
			}
			m.env = append(m.env, "BARECLAW_LOG_FILE="+where)
			if _, err := (detached.Gateway{Self: m.executable(), Dir: m.path("work"), Environ: m.env, Log: usual}).Start(); err != nil {
				t.Fatal(err)
			}
			said := func(what string) int {
				b, _ := os.ReadFile(path) // it may not be there yet
				return strings.Count(string(b), what)
			}
			m.eventually("it is ready", func() bool { return said(`"msg":"ready"`) > 0 })
			if n := said(`"msg":"ready"`); n != 1 {
				t.Errorf("it says %d times that it is ready", n)
			}
			if err := os.Rename(path, logfile.Old(path, 1)); err != nil { // as the rotation by another one does
				t.Fatal(err)
			}
			m.command(exitcode.OK, "restart")
			m.eventually("the second process is ready", func() bool { return said(`"msg":"ready"`) > 0 })
			if n := said(`"msg":"ready"`); n != 1 {
				t.Errorf("the second process says %d times that it is ready", n)
			}
			if b, err := os.ReadFile(usual); path != usual && (err != nil || len(b) != 0) {
				t.Errorf("%s is %q, %v", logfile.Name, b, err)
			}
			h := m.lockFile()
			if path == usual {
				if out, err := os.Stat(fmt.Sprintf("/proc/%d/fd/2", h.PID)); err == nil { // where the system shows it
					if now, err := os.Stat(path); err != nil || !os.SameFile(out, now) {
						t.Errorf("a panic would go elsewhere than to %s", path)
					}
				}
			}
			if err := proc.Signal(h.PID, h.Start, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			m.eventually("it has left", func() bool { return said(`"msg":"leaving"`) > 0 })
			if n := said(`"msg":"leaving"`); n != 1 {
				t.Errorf("it says %d times that it leaves", n)
			}
		})
	}
}
