package e2e

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUpgradeOnDisks upgrades where the new program has no room, where it cannot be
// written, and from where nothing can be started, as below many a /tmp.
func TestUpgradeOnDisks(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	program, err := os.Stat(releaseOf(t, "v1"))
	if err != nil {
		t.Fatal(err)
	}
	disk := func(name string) (remount func(flags uintptr)) {
		t.Helper()
		size := fmt.Sprintf("size=%d", program.Size()*3/2) // for one program, and not for two
		if err := os.MkdirAll(m.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
		m.diskOf(name, size[len("size="):])
		return func(flags uintptr) {
			t.Helper()
			if err := unix.Mount("tmpfs", m.path(name), "tmpfs", unix.MS_REMOUNT|flags, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.install("v1", "1s")
	home, installed := disk("small"), m.program
	m.program = m.path("small/bareclaw")
	copyProgram(t, releaseOf(t, "v1"), m.program)
	m.start()
	m.upgrades(exitFailure, "no space left", "--from", releaseOf(t, "v2"))
	m.holds("v1", "", "")
	home(unix.MS_RDONLY)
	m.upgrades(exitFailure, "read-only file system", "--from", releaseOf(t, "v2"))
	m.holds("v1", "", "")
	m.command(exitOK, "restart") // it goes on
	m.endHosts()

	other := newMachine(t)
	other.env, other.program = append(other.env, trialVariable+"=1s"), installed
	brought := disk("brought")
	copyProgram(t, releaseOf(t, "v2"), m.path("brought/bareclaw"))
	brought(unix.MS_NOEXEC)
	other.start()
	other.upgrades(exitOK, "Upgraded from v1 to v2", "--from", m.path("brought"))
}
