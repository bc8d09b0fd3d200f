package upgrade

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestUpgradeOnDisks upgrades where the new program has no room, where it cannot be
// written, and from where nothing can be started, as below many a /tmp.
func TestUpgradeOnDisks(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	program, err := os.Stat(harness.ReleaseOf(t, "v1"))
	check.OK(t, err)
	disk := func(name string) (remount func(flags uintptr)) {
		t.Helper()
		size := fmt.Sprintf("size=%d", program.Size()*3/2) // for one program, and not for two
		check.OK(t, os.MkdirAll(m.Path(name), 0o700))
		m.SmallDisk(name, size[len("size="):])
		return func(flags uintptr) {
			t.Helper()
			check.OK(t, unix.Mount("tmpfs", m.Path(name), "tmpfs", unix.MS_REMOUNT|flags, size))
		}
	}
	m.Install("v1", "1s")
	home, installed := disk("small"), m.Program
	m.Program = m.Path("small/bareclaw")
	harness.CopyProgram(t, harness.ReleaseOf(t, "v1"), m.Program)
	m.Start()
	m.Upgrades(harness.ExitFailure, "no space left", "--from", harness.ReleaseOf(t, "v2"))
	holds(m, "v1", "", "")
	home(unix.MS_RDONLY)
	m.Upgrades(harness.ExitFailure, "read-only file system", "--from", harness.ReleaseOf(t, "v2"))
	holds(m, "v1", "", "")
	m.Command(harness.ExitOK, "restart") // it goes on
	m.EndHosts()

	other := harness.NewMachine(t)
	other.Env, other.Program = append(other.Env, harness.TrialVariable+"=1s"), installed
	brought := disk("brought")
	harness.CopyProgram(t, harness.ReleaseOf(t, "v2"), m.Path("brought/bareclaw"))
	brought(unix.MS_NOEXEC)
	other.Start()
	other.Upgrades(harness.ExitOK, "Upgraded from v1 to v2", "--from", m.Path("brought"))
}
