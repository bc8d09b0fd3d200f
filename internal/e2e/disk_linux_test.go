package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/roottest"
)

// smallDisk puts the machine's state directory on a file system of 2 MiB, and
// skips the test, saying so, where that is not allowed.
func (m *machine) smallDisk() {
	m.t.Helper()
	m.diskOf("state", "2m")
}

// diskOf does it with any directory of the machine and any size.
func (m *machine) diskOf(name, size string) {
	m.t.Helper()
	dir := m.path(name)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		roottest.Unavailable(m.t, "a full and a read-only disk: mounting takes root: %v", err)
	}
	m.t.Cleanup(func() {
		m.endHosts()
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			m.t.Errorf("unmount: %v", err)
		}
	})
}

// remount makes the small disk read-only or writable. The kernel refuses the
// first while a file there is open for writing.
func (m *machine) remount(flags uintptr) {
	m.t.Helper()
	if err := unix.Mount("tmpfs", m.path("state"), "tmpfs", unix.MS_REMOUNT|flags, "size=2m"); err != nil {
		m.t.Fatal(err)
	}
}

// fill leaves no room on the small disk and returns what gives it back.
func (m *machine) fill() (free func()) {
	m.t.Helper()
	return m.fillDisk("state")
}

// fillDisk does it with any directory that diskOf made small.
func (m *machine) fillDisk(name string) (free func()) {
	m.t.Helper()
	path := filepath.Join(m.path(name), "filler")
	f, err := os.Create(path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		m.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			m.t.Error(err)
		}
	}
}

// refusals sends messages until one is refused. It returns the text of that one
// and the ids of those before it, for which there was still room.
func (g *gateway) refusals(channel string, status int, code string) (refused string, accepted []string) {
	g.t.Helper()
	for i := range 1000 {
		text := fmt.Sprintf("echo %s %d", channel, i)
		a, err := g.do("POST", "/message", map[string]any{"channel": channel, "text": text}, "Prefer", "respond-async")
		switch {
		case err != nil:
			g.t.Fatal(err)
		case a.status == 202:
			accepted = append(accepted, a.str("message_id"))
			continue
		case a.status != status || a.str("code") != code || !strings.Contains(a.str("error"), "nothing was accepted"):
			g.t.Fatalf("refused with status %d, want %d with code %q: %s", a.status, status, code, a.body)
		}
		return text, accepted
	}
	g.t.Fatal("no message was refused")
	return "", nil
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.smallDisk()
	g := m.start()
	g.usable("busy")
	g.usable("idle")
	waiter := make(chan answer, 1)
	go func() {
		a, _ := g.do("POST", "/message", map[string]any{"channel": "busy", "text": "wait " + m.path("go")})
		waiter <- a
	}()
	m.eventually("turn runs", func() bool { return m.begun("wait ") == 1 })

	free := m.fill()
	queued, accepted := g.refusals("busy", 507, "storage_full")
	first, more := g.refusals("idle", 507, "storage_full")
	keyed, err := g.do("POST", "/message", map[string]any{"channel": "busy", "text": "echo keyed"}, "Idempotency-Key", "k")
	if err != nil || keyed.status != 507 {
		t.Errorf("a message with a key: %v, status %d: %s", err, keyed.status, keyed.body)
	}
	g.must("GET", "/health", nil, 200)
	m.touch("go")
	(<-waiter).want(t, "waited for "+m.path("go")) // although it cannot be written down yet

	free()
	for _, id := range append(accepted, more...) {
		if a := g.outcome(id); a.str("state") != "answered" {
			t.Errorf("accepted on the full disk, then: %s", a.body)
		}
	}
	g.usable("busy")
	g.usable("idle")
	again, err := g.do("POST", "/message", map[string]any{"channel": "busy", "text": "echo keyed"}, "Idempotency-Key", "k")
	if err != nil || again.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the refused key is taken: %v %v", err, again.header)
	}
	again.want(t, "keyed")
	if m.begunExactly(queued)+m.begunExactly(first) != 0 {
		t.Error("a refused message reached claude")
	}
	m.eventually("the outcome is written", func() bool { return g.metrics()["bareclaw_messages_waiting"] == 0 })
	g.kill()
	g = m.start()
	if n, want := g.balanced(), 6+len(accepted)+len(more); n != want {
		t.Errorf("%d messages accepted, want %d", n, want)
	}
	g.endsAll()
}

// TestReadOnlyWhileRunning has the system refuse writes to the ledger for a
// while, as a disk does that the kernel has made read-only after an error.
func TestReadOnlyWhileRunning(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.usable("busy")
	g.usable("idle")
	waiter := make(chan answer, 1)
	go func() {
		a, _ := g.do("POST", "/message", map[string]any{"channel": "busy", "text": "wait " + m.path("go")})
		waiter <- a
	}()
	m.eventually("turn runs", func() bool { return m.begun("wait ") == 1 })

	tracer := m.trace(g.cmd.Process.Pid, "pwrite64,ftruncate,fallocate,openat:error=EROFS")
	queued, accepted := g.refusals("busy", 503, "storage_unavailable")
	first, more := g.refusals("idle", 503, "storage_unavailable")
	if len(accepted)+len(more) != 0 {
		t.Errorf("%d messages were accepted", len(accepted)+len(more))
	}
	m.touch("go")
	(<-waiter).want(t, "waited for "+m.path("go"))
	tracer.detach()

	g.usable("busy")
	g.usable("idle")
	if m.begunExactly(queued)+m.begunExactly(first) != 0 {
		t.Error("a refused message reached claude")
	}
	m.eventually("the outcome is written", func() bool { return g.metrics()["bareclaw_messages_waiting"] == 0 })
	g.kill()
	g = m.start()
	if n := g.balanced(); n != 5 {
		t.Errorf("%d messages accepted, want 5", n)
	}
	g.endsAll()
}

func TestReadOnlyAtStart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.smallDisk()
	g := m.start()
	g.usable("a")
	g.endsAll()

	m.remount(unix.MS_RDONLY)
	g = m.launch()
	g.waitEnd()
	if status := g.cmd.ProcessState.ExitCode(); status != exitFailure {
		t.Errorf("exit status on a read-only disk is %d, want %d", status, exitFailure)
	}
	if log := m.log.String(); !strings.Contains(log, m.path("state")) || !strings.Contains(log, syscall.EROFS.Error()) {
		t.Errorf("the daemon says %q, which does not name the directory and the cause", log)
	}

	m.remount(0)
	g = m.start()
	g.say("a", "history").want(t, `["[channel: a, adapter: http]\necho usable","[channel: a, adapter: http]\nhistory"]`)
	if n := g.balanced(); n != 2 {
		t.Errorf("%d messages accepted, want 2", n)
	}
	g.endsAll()
}

// begunExactly counts the turns that were begun with that text as one of their
// lines.
func (m *machine) begunExactly(line string) int {
	m.t.Helper()
	n := 0
	for _, l := range m.journal() {
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
