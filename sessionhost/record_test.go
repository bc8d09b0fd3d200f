package sessionhost

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// sleeper starts a process that does nothing, and returns its record as a host
// of this boot.
func sleeper(t *testing.T) record {
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
	return record{Channel: "c", PID: cmd.Process.Pid, Start: start, BootID: boot}
}

func TestReapEndsWhatIsRecorded(t *testing.T) {
	t.Parallel()
	host, claude := sleeper(t), sleeper(t)
	host.ClaudePID, host.ClaudeStart = claude.PID, claude.Start
	if err := syscall.Kill(host.PID, syscall.SIGSTOP); err != nil { // one that is stopped, too
		t.Fatal(err)
	}
	if err := host.reap(t.Context(), filepath.Join(t.TempDir(), "x.json")); err != nil {
		t.Fatal(err)
	}
	if host.hostAlive() || host.claudeAlive() {
		t.Error("a process is left")
	}
}

func TestReapLeavesStrangers(t *testing.T) {
	t.Parallel()
	r := sleeper(t)
	for name, stranger := range map[string]record{
		"other start": {PID: r.PID, Start: r.Start + 1, ClaudePID: r.PID, ClaudeStart: r.Start + 1, BootID: r.BootID},
		"other boot":  {PID: r.PID, Start: r.Start, ClaudePID: r.PID, ClaudeStart: r.Start, BootID: "another"},
		"no boot":     {PID: r.PID, Start: r.Start, ClaudePID: r.PID, ClaudeStart: r.Start},
		"nothing":     {BootID: r.BootID},
		"group":       {PID: -r.PID, Start: r.Start, BootID: r.BootID},
	} {
		if err := stranger.reap(t.Context(), filepath.Join(t.TempDir(), "x.json")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !r.hostAlive() {
			t.Fatalf("%s: the stranger is gone", name)
		}
	}
}

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "record.json")
	if _, err := readRecord(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a record that is not there: %v", err)
	}
	want := record{Channel: "a \"b\"\n\u2028", Socket: "/run/x.sock", PID: 1, Start: 1<<64 - 1, ClaudePID: 2, ClaudeStart: 3, BootID: "b"}
	for range 2 { // also over an old one
		if err := want.write(path); err != nil {
			t.Fatal(err)
		}
		if got, err := readRecord(path); err != nil || got != want {
			t.Errorf("record is %+v (%v), want %+v", got, err, want)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v (%v)", st.Mode(), err)
	}
	if err := os.WriteFile(path, []byte(`{"channel":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readRecord(path); err == nil || isGone(err) || !strings.Contains(err.Error(), path) {
		t.Errorf("half a record: %v", err)
	}
}

// TestPaths holds that any channel has files of its own, with names that fit.
func TestPaths(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, key := range []string{"", "a", "A", "a ", "../../etc/passwd", strings.Repeat("x", 4000), strings.Repeat("x", 4000) + "y", "ключ", "a\nb", "a\x00b"} {
		p := pathsFor("/state", "/run", key)
		if other, taken := seen[p.socket]; taken {
			t.Errorf("%q and %q share %s", key, other, p.socket)
		}
		seen[p.socket] = key
		if len(p.socket) > len("/run/")+29 || filepath.Dir(p.socket) != "/run" || filepath.Dir(p.record) != "/state/hosts" {
			t.Errorf("%q has the files %+v", key, p)
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

func TestLockFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(path); !errors.Is(err, errLocked) {
		t.Errorf("second lock: %v, want errLocked", err)
	}
	_ = first.Close()
	again, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

func TestStderrTail(t *testing.T) {
	t.Parallel()
	var small, large tail
	for _, part := range []string{"one\n", "", "two\xff\n"} {
		if n, err := small.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("write: %d, %v", n, err)
		}
	}
	if got := small.String(); got != "one\ntwo\uFFFD\n" {
		t.Errorf("kept %q", got)
	}
	for i := range 100 {
		_, _ = large.Write([]byte(strings.Repeat(string(rune('a'+i%26)), 1+i*37)))
	}
	_, _ = large.Write([]byte(strings.Repeat("-", 10*tailBytes) + "end"))
	if got := large.String(); len(got) != tailBytes || !strings.HasSuffix(got, "-end") {
		t.Errorf("kept %d bytes that end with %q", len(got), got[max(0, len(got)-5):])
	}
	if cap(large.buf) > 16*tailBytes {
		t.Errorf("%d bytes are held for it", cap(large.buf))
	}
}
