package command

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/logfile"
	"bareclaw/internal/term"
	"bareclaw/internal/testkit/check"
)

// A following is a `bareclaw logs -f` that prints to a file.
type following struct {
	*harness.Machine
	cmd *exec.Cmd
}

func follow(m *harness.Machine) *following {
	m.T.Helper()
	out, err := os.Create(m.Path("followed"))
	check.OK(m.T, err)
	f := &following{Machine: m, cmd: exec.Command(m.Executable(), "logs", "-f", "-n", "0")}
	f.cmd.Dir, f.cmd.Env, f.cmd.Stdout, f.cmd.Stderr = m.Path("work"), m.Env, out, m.Log
	err = f.cmd.Start()
	_ = out.Close()
	check.OK(m.T, err)
	m.T.Cleanup(func() { _ = f.cmd.Process.Kill(); _ = f.cmd.Wait() })
	return f
}

// lines returns those of a file that are no padding, each with what comes before its
// message left out.
func (f *following) lines(name string) (all []string) {
	f.T.Helper()
	b, err := os.ReadFile(f.Path(name))
	check.OK(f.T, err)
	for line := range bytes.Lines(b) {
		if text := string(bytes.TrimSuffix(line, []byte("\n"))); len(text) > 120 && strings.HasPrefix(text, "padding") {
			all = append(all, text[:20])
		} else {
			all = append(all, term.Safe(text))
		}
	}
	return all
}

// shows waits until a text is among what was printed last.
func (f *following) shows(text string) {
	f.T.Helper()
	f.Eventually("the log that is followed shows "+text, func() bool {
		b, err := os.ReadFile(f.Path("followed"))
		return err == nil && bytes.Contains(b[max(0, len(b)-2<<20):], []byte(text))
	})
}

// TestLogsFollowedOverKillsAndRotation: who follows the log has each of its lines once,
// whatever is killed and however often it is rotated, also while they do not look.
func TestLogsFollowedOverKillsAndRotation(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Touch("state/bareclaw.log")
	m.Touch("state/daemon.lock") // as of a gateway that has not said yet where its log is
	f := follow(m)
	path := m.Path("state/bareclaw.log")
	padded := 0
	pad := func(bytes int) { // as another process would write it
		l, err := logfile.Open(path, logfile.MaxBytes)
		check.OK(t, err)
		for ; bytes > 0; bytes -= 1 << 20 {
			padded++
			_, _ = fmt.Fprintf(l, "padding %012d %s\n", padded, strings.Repeat("x", 1<<20))
		}
		_ = l.Close()
	}
	ready := func() string { return fmt.Sprintf(`"pid":%d`, m.Worker()) }
	g := m.Start()
	f.shows(ready())
	for range 2 {
		g.Kill()
		g = m.Start() // goes on in the same file
		f.shows(ready())
	}
	g.Kill()
	pad(logfile.MaxBytes - 2<<20)
	f.shows(fmt.Sprintf("padding %012d", padded))
	check.OK(t, f.cmd.Process.Signal(syscall.SIGSTOP))
	pad(3 << 20) // ends the file
	g = m.Start()
	g.Say("c", "echo hello").Want(t, "hello")
	g.Kill()
	pad(logfile.MaxBytes) // ends one that was not looked at
	g = m.Start()
	check.OK(t, f.cmd.Process.Signal(syscall.SIGCONT))
	f.shows(ready())
	g.Signal(syscall.SIGTERM)
	f.shows(`"msg":"ended"`)
	var want []string
	for n := logfile.Kept; n >= 0; n-- {
		name := "state/bareclaw.log"
		if n > 0 {
			name = logfile.Old(name, n)
		}
		if _, err := os.Stat(m.Path(name)); err == nil {
			want = append(want, f.lines(name)...)
		}
	}
	if got := f.lines("followed"); !slices.Equal(got, want) {
		t.Errorf("shown %d lines:\n%s\nwritten %d:\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
	if _, err := os.Stat(m.Path("state/bareclaw.log.2")); err != nil {
		t.Errorf("it was not rotated twice: %v", err)
	}
}

// TestLogsFollowedByNobody: a log that is followed by a command which has read enough, as
// head, is left alone by both, though nothing more comes to it.
func TestLogsFollowedByNobody(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Write("state/bareclaw.log", "one\ntwo\n", 0o600)
	cmd := exec.Command(m.Executable(), "logs", "-f")
	cmd.Dir, cmd.Env, cmd.Stderr = m.Path("work"), m.Env, m.Log
	out, err := cmd.StdoutPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	ended := make(chan error, 1)
	defer func() { _ = cmd.Process.Kill() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "one\n" {
		t.Errorf("the first line is %q, %v", line, err)
	}
	_ = out.Close()
	go func() { ended <- cmd.Wait() }()
	m.Eventually("it ends", func() bool { return len(ended) == 1 })
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}
