package crash

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/e2e/harness"
)

func TestFullDisk(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.SmallDisk("state", "2m")
	g := m.Start()
	g.Usable("busy")
	g.Usable("idle")
	waiter := make(chan harness.Answer, 1)
	go func() {
		a, _ := g.Do("POST", "/message", map[string]any{"channel": "busy", "text": "wait " + m.Path("go")})
		waiter <- a
	}()
	m.Eventually("turn runs", func() bool { return m.Begun("wait ") == 1 })

	free := m.Fill("state")
	queued, accepted := g.Refusals("busy", 507, "storage_full")
	first, more := g.Refusals("idle", 507, "storage_full")
	keyed, err := g.Do("POST", "/message", map[string]any{"channel": "busy", "text": "echo keyed"}, "Idempotency-Key", "k")
	if err != nil || keyed.Status != 507 {
		t.Errorf("a message with a key: %v, status %d: %s", err, keyed.Status, keyed.Body)
	}
	g.Must("GET", "/health", nil, 200)
	m.Touch("go")
	(<-waiter).Want(t, "waited for "+m.Path("go")) // although it cannot be written down yet

	free()
	for _, id := range append(accepted, more...) {
		if a := g.Outcome(id); a.Str("state") != "answered" {
			t.Errorf("accepted on the full disk, then: %s", a.Body)
		}
	}
	g.Usable("busy")
	g.Usable("idle")
	again, err := g.Do("POST", "/message", map[string]any{"channel": "busy", "text": "echo keyed"}, "Idempotency-Key", "k")
	if err != nil || again.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the refused key is taken: %v %v", err, again.Header)
	}
	again.Want(t, "keyed")
	if begunExactly(m, queued)+begunExactly(m, first) != 0 {
		t.Error("a refused message reached claude")
	}
	m.Eventually("the outcome is written", func() bool { return g.Metrics()["bareclaw_messages_waiting"] == 0 })
	g.Kill()
	g = m.Start()
	if n, want := g.Balanced(), 6+len(accepted)+len(more); n != want {
		t.Errorf("%d messages accepted, want %d", n, want)
	}
	g.EndsAll()
}

func TestReadOnlyAtStart(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.SmallDisk("state", "2m")
	g := m.Start()
	g.Usable("a")
	g.EndsAll()

	m.Remount(unix.MS_RDONLY)
	g = m.Launch()
	g.WaitEnd()
	if status := g.Cmd.ProcessState.ExitCode(); status != harness.ExitFailure {
		t.Errorf("exit status on a read-only disk is %d, want %d", status, harness.ExitFailure)
	}
	if log := m.Log.String(); !strings.Contains(log, m.Path("state")) || !strings.Contains(log, syscall.EROFS.Error()) {
		t.Errorf("the daemon says %q, which does not name the directory and the cause", log)
	}

	m.Remount(0)
	g = m.Start()
	g.Say("a", "history").Want(t, `["[channel: a, adapter: http]\necho usable","[channel: a, adapter: http]\nhistory"]`)
	if n := g.Balanced(); n != 2 {
		t.Errorf("%d messages accepted, want 2", n)
	}
	g.EndsAll()
}

// begunExactly counts the turns that were begun with that text as one of their
// lines.
func begunExactly(m *harness.Machine, line string) int {
	m.T.Helper()
	n := 0
	for _, l := range m.Journal() {
		if l.Event == "begun" {
			for text := range strings.Lines(l.Text) {
				if strings.TrimSuffix(text, "\n") == line {
					n++
				}
			}
		}
	}
	return n
}
