package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestStart starts a gateway in the background, however the last one ended. All commands name the
// same process, and say how to start a gateway that is down.
func TestStart(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "XDG_RUNTIME_DIR=/nowhere", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus")
	t.Cleanup(func() { _, _, _ = m.Run("stop", "--now") })
	m.Command(exitcode.Unreachable, "send", "desk", "hello").Tells("no gateway has run here yet", "`bareclaw start`")
	first := m.Command(exitcode.OK, "start")
	h := m.Holder()
	pid := "pid " + strconv.Itoa(h.PID)
	first.Shows("Started the gateway in the background in ", pid+", at http://"+h.Address, "It will not start again after a reboot. Start it at boot with `bareclaw serve`.")
	m.Command(exitcode.OK, "start").Shows("The gateway runs already: " + pid)
	m.Command(exitcode.OK, "status").Shows(pid)
	m.Command(exitcode.OK, "restart").Shows(pid + ",")
	m.Command(exitcode.OK, "send", "desk", "hello").Shows("ok: hello")
	stopped := m.Command(exitcode.OK, "stop")
	stopped.Shows("(" + pid + ")")
	if said := stopped.Out.String(); strings.Contains(said, "boot") {
		t.Errorf("nothing starts it at boot, and stop says %s", said)
	}
	for _, args := range [][]string{{"status"}, {"send", "desk", "hello"}, {"channels"}, {"restart"}, {"trace", "x"}} {
		m.Command(exitcode.Unreachable, args...).Prints("").Tells("the gateway is not running: you stopped it at ", "Start it with `bareclaw start`.")
	}
	doc := m.Command(exitcode.OK, "start", "--json").Document()
	if h := m.Holder(); doc.Number("pid") != float64(h.PID) || doc.Flag("already") {
		t.Errorf("the second start says %s, and the gateway is %d", doc.Body, h.PID)
	}
	m.Command(exitcode.OK, "status", "--json")
}

// TestStartFails says why the gateway ended.
func TestStartFails(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_PORT="+harness.TakenPort(t))
	m.Command(exitcode.Failed, "start").Tells("the gateway ended at once: ", "address already in use")
}

// TestCrashLoop has a worker that crashes at every start because of a wrong file of settings, which
// also the commands would read: status, logs and doctor work, say so, and wait for nobody.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Env = slices.DeleteFunc(m.Env, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_TEST_CRASHES=") })
	g := m.Start()
	h := m.LockFile()
	file := m.Path(harness.EnvFile)
	check.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
	m.Write(harness.EnvFile, "HALF=\"\n", 0o600)
	m.Command(exitcode.OK, "status").Shows("pid "+strconv.Itoa(h.PID)).Tells("wrong setting: "+file+":1", "goes on with its earlier settings")
	check.OK(t, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGKILL))
	m.Eventually("the worker has crashed twice", func() bool { return strings.Count(m.Log.String(), "the gateway has crashed") > 1 })
	crashed := fmt.Sprintf("the gateway (pid %d) has crashed", h.PID)
	m.Command(exitcode.Unreachable, "status").Tells(crashed, "`bareclaw logs` says why", "wrong setting: "+file+":1")
	last, _ := m.Command(exitcode.Unreachable, "status", "--json").Document().JSON["last"].(map[string]any)
	if last["crashing"] != true {
		t.Errorf("the last gateway is %v", last)
	}
	m.Command(exitcode.OK, "logs").Shows("the gateway has crashed").Tells("wrong setting: " + file + ":1")
	m.Command(exitcode.Usage, "send", "desk", "hello").Tells(file)
	check.OK(t, os.Remove(file))
	g.Eventually("the gateway is back", func() bool { return !m.LockFile().LacksWorker() })
	m.Command(exitcode.OK, "status").Shows("pid " + strconv.Itoa(h.PID))
}
