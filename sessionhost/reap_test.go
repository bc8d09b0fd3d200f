package sessionhost

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// sleeper starts a process that does nothing, and returns its record as a host
// of this boot.
func sleeper(t *testing.T) protocol.Record {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { // ends with the process
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	start, err := proc.StartTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	boot, err := proc.BootID()
	if err != nil {
		t.Fatal(err)
	}
	return protocol.Record{Channel: "c", PID: cmd.Process.Pid, Start: start, BootID: boot}
}

func TestReapEndsWhatIsRecorded(t *testing.T) {
	t.Parallel()
	host, claude := sleeper(t), sleeper(t)
	host.ClaudePID, host.ClaudeStart = claude.PID, claude.Start
	if err := syscall.Kill(host.PID, syscall.SIGSTOP); err != nil { // one that is stopped, too
		t.Fatal(err)
	}
	if err := reap(t.Context(), recordFile{host, filepath.Join(t.TempDir(), "x.json")}); err != nil {
		t.Fatal(err)
	}
	if host.HostAlive() || host.ClaudeAlive() {
		t.Error("a process is left")
	}
}

func TestReapLeavesStrangers(t *testing.T) {
	t.Parallel()
	r := sleeper(t)
	for name, stranger := range map[string]protocol.Record{
		"other start": {PID: r.PID, Start: r.Start + 1, ClaudePID: r.PID, ClaudeStart: r.Start + 1, BootID: r.BootID},
		"other boot":  {PID: r.PID, Start: r.Start, ClaudePID: r.PID, ClaudeStart: r.Start, BootID: "another"},
		"no boot":     {PID: r.PID, Start: r.Start, ClaudePID: r.PID, ClaudeStart: r.Start},
		"nothing":     {BootID: r.BootID},
		"group":       {PID: -r.PID, Start: r.Start, BootID: r.BootID},
	} {
		if err := reap(t.Context(), recordFile{stranger, filepath.Join(t.TempDir(), "x.json")}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !r.HostAlive() {
			t.Fatalf("%s: the stranger is gone", name)
		}
	}
}

func TestSocketPathTooLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := New(Options{StateDir: dir, RuntimeDir: filepath.Join(dir, strings.Repeat("r", 100))})
	if err == nil || !strings.Contains(err.Error(), "BARECLAW_RUNTIME_DIR") {
		t.Errorf("error is %v, want one that names the setting", err)
	}
}
