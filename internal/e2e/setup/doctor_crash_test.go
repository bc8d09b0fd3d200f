package setup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestDoctorOfACrashLoop advises what helps while the gateway waits for its next start: a restart
// is not heard then.
func TestDoctorOfACrashLoop(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Env = slices.DeleteFunc(m.Env, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_TEST_CRASHES=") })
	m.Start()
	h := m.LockFile()
	check.OK(t, os.MkdirAll(filepath.Dir(m.Path(harness.EnvFile)), 0o700))
	m.Write(harness.EnvFile, "HALF=\"\n", 0o600)
	check.OK(t, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGKILL))
	m.Eventually("the worker has crashed", func() bool { return strings.Contains(m.Log.String(), "the gateway has crashed") })
	d := m.Quick()
	d.Tells(doctor.Problem, "gateway_crashing", "`bareclaw logs` says why", "`bareclaw stop` and `bareclaw start`")
	d.Tells(doctor.Problem, "setting_wrong", m.Path(harness.EnvFile))
	d.Silent("gateway_hangs", "tcp_dead", "socket_dead")
}
