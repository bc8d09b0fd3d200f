package crash

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// restartsCrashes lets a gateway start a worker that crashes again, as outside of tests.
const restartsCrashes = "BARECLAW_TEST_CRASHES="

// TestCrashLoop kills a gateway whose settings were broken meanwhile, so that it cannot be started
// again: its log says why, clients are refused at once, and it serves when that is mended.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, restartsCrashes)
	g := m.Start()
	g.Usable("a")
	m.Write("work/.env", "BARECLAW_TIMEOUT_MS=soon\n", 0o600)
	h := m.LockFile()
	check.OK(t, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGKILL))
	local := g.Local()
	m.Eventually("clients are refused, over TCP and the socket", func() bool {
		a, err := g.Do("GET", "/health", nil)
		if err != nil || a.Status != 503 {
			return false
		}
		a.Refused(t, "a crash loop", 503, "shutting_down")
		if a.Header.Get("Retry-After") == "" {
			t.Errorf("the refusal has the header %v", a.Header)
		}
		res, err := local.Get("http://gateway/health")
		if err != nil {
			return false // the pause has ended just now
		}
		check.OK(t, res.Body.Close())
		return res.StatusCode == http.StatusServiceUnavailable
	})
	said := ""
	for line := range strings.Lines(m.Log.String()) {
		if strings.Contains(line, `"msg":"the gateway has crashed"`) {
			said = line
		}
	}
	if !strings.Contains(said, "BARECLAW_TIMEOUT_MS") {
		t.Errorf("the supervisor does not say why: %s", said)
	}
	m.Write("work/.env", "", 0o600)
	m.Eventually("it serves", func() bool {
		a, err := g.Do("GET", "/health", nil)
		return err == nil && a.Status == 200
	})
	g.Usable("a")
	g.Balanced()
}

// TestStartOnAFullDisk starts a gateway that cannot write anything: it does not end, which a service
// manager bears only so often, and serves when there is room.
func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, restartsCrashes)
	m.SmallDisk("state", "2m")
	g := m.Start()
	g.Usable("a")
	g.Signal(syscall.SIGINT)
	free := m.Fill("state")
	started := make(chan *harness.Gateway, 1)
	go func() { started <- m.Launch() }() // ends when it is ready
	m.Eventually("it waits for room", func() bool { return strings.Contains(m.Log.String(), `"msg":"the gateway is started again"`) })
	free()
	g = <-started
	if harness.Closed(g.Done) {
		t.Fatalf("it has ended: %v", g.Cmd.ProcessState)
	}
	g.Usable("a")
	g.Balanced()
}

// TestFailedRestart asks for a restart that cannot be: the gateway says so, and goes on as well as
// before.
func TestFailedRestart(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	g.Usable("a")
	before := g.Must("GET", "/health", nil, 200)
	m.Write("work/.env", "BARECLAW_TIMEOUT_MS=soon\n", 0o600)
	asked := time.Now().UTC().Add(-time.Second)
	g.Must("POST", "/restart", nil, 503)
	h := g.Must("GET", "/health", nil, 200)
	if h.Str("status") != before.Str("status") {
		t.Errorf("the gateway is %s, and was %s: %s", h.Str("status"), before.Str("status"), h.Body)
	}
	failed, _ := h.JSON["failed_restart"].(map[string]any)
	text, _ := failed["error"].(string)
	at, _ := failed["at"].(string)
	if when, err := time.Parse(time.RFC3339, at); err != nil || when.Before(asked) || !strings.Contains(text, "BARECLAW_TIMEOUT_MS") {
		t.Errorf("of the failed restart it says %v", failed)
	}
	m.Write("work/.env", "", 0o600)
	m.Command(harness.ExitOK, "status").Shows("The last restart failed")
	g.Restart()
	if h := g.Must("GET", "/health", nil, 200); h.JSON["failed_restart"] != nil {
		t.Errorf("after a restart: %s", h.Body)
	}
}
