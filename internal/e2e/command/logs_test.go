package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/core/config"
	"bareclaw/internal/detached"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/logfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/term"
	"bareclaw/internal/testkit/check"
)

// TestLogsOfTheJournal asks a journalctl for the unit that the gateway was part of.
func TestLogsOfTheJournal(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Installed()
	script := "#!/bin/sh\necho \"$@\"\nprintf 'colour \\033[31m\\n'\n"
	m.Write("bin/journalctl", script, 0o700)
	lock, err := lockfile.AcquireState(m.Path("state"))
	check.OK(t, err)
	defer lock.Release()
	check.OK(t, lock.Describe(lockfile.Holder{PID: os.Getpid(), Log: lockfile.LogLocation{Unit: "--user-unit=claw.service"}}))
	m.Command(exitcode.OK, "logs", "-n", "7").Prints("--no-pager --quiet --output=cat --user-unit=claw.service --lines=7\ncolour \uFFFD[31m\n")
	m.Command(exitcode.OK, "logs", "-f").Shows("--follow")
	m.Write("bin/journalctl", "#!/bin/sh\nexit 1\n", 0o700)
	m.Command(exitcode.Failed, "logs").Tells("ask the journal")
}

// TestLogsAsJSON: each line is an object, whatever wrote the line.
func TestLogsAsJSON(t *testing.T) {
	t.Parallel()
	// Whatever the text handler writes for these attributes is what the JSON handler says of them.
	var text, object bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&object, nil)} {
		r := slog.NewRecord(time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), slog.LevelWarn, "it is so", 0)
		r.Add("plain", "word", "none", "", "quoted", `a "b"\c = d`, "tick", "`x` 'y'", "bare", "`x`", "single", "'y'", "path", `C:\x`, "a key = \"x\"", "größer ≤ 日本",
			"control", "\x1b[31m\a\v\x7f\u202e\r\n\t\U000e0001", "err", errors.New("exit: 1"))
		check.OK(t, h.Handle(t.Context(), r))
	}
	rows := []struct{ line, want string }{
		{text.String(), string(term.SafeJSON(object.Bytes()))},
		{object.String(), string(term.SafeJSON(object.Bytes()))},
		{`{"time":"t","level":"INFO","msg":"m","n":1,"group":{"x":true}}`, `{"time":"t","level":"INFO","msg":"m","n":1,"group":{"x":true}}`},
		{"time=t level=INFO msg=m n=1", `{"time":"t","level":"INFO","msg":"m","n":"1"}`},
		{"panic: it \"broke\" \x1b[31m", `{"msg":"panic: it \"broke\" \u001b[31m"}`},
		{"PC=0x46b0e1 m=0 sigcode=128", `{"msg":"PC=0x46b0e1 m=0 sigcode=128"}`},
		{`{"not": complete`, `{"msg":"{\"not\": complete"}`},
		{`time=t msg="not complete`, `{"msg":"time=t msg=\"not complete"}`},
		{`time=t msg="more"than`, `{"msg":"time=t msg=\"more\"than"}`},
		{"time=t and words", `{"msg":"time=t and words"}`},
		{`time=t "a key"`, `{"msg":"time=t \"a key\""}`},
		{"", `{"msg":""}`},
	}
	var log, want strings.Builder
	for _, row := range rows {
		log.WriteString(strings.TrimSuffix(row.line, "\n") + "\n")
		want.WriteString(strings.TrimSuffix(row.want, "\n") + "\n")
	}
	m := harness.NewMachine(t)
	m.Installed()
	m.Write("state/bareclaw.log", log.String(), 0o600)
	same := func(got string) {
		t.Helper()
		gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want.String(), "\n")
		for i := range max(len(gotLines), len(wantLines)) {
			if i >= len(gotLines) || i >= len(wantLines) || !sameJSON(gotLines[i], wantLines[i]) {
				t.Fatalf("line %d of\n%s\nwant\n%s", i+1, got, want.String())
			}
		}
		if got != term.Safe(got) {
			t.Errorf("not safe for a terminal: %q", got)
		}
	}
	same(m.Command(exitcode.OK, "logs", "--json").Out.String())
	m.Command(exitcode.OK, "logs", "--json", "-n", "1").Prints(`{"msg":""}` + "\n")

	f := follow(m, "1", "--json")
	f.shows(`{"msg":""}` + "\n") // all that comes from now on is followed
	file, err := logfile.Open(m.Path("state/bareclaw.log"), logfile.MaxBytes)
	check.OK(t, err)
	defer func() { check.OK(t, file.Close()) }()
	slog.New(slog.NewTextHandler(file, nil)).Info("ready", "why", "of two words")
	f.shows(`"level":"INFO","msg":"ready","why":"of two words"}` + "\n")

	m.Write("journal", log.String(), 0o600)
	m.Write("bin/journalctl", "#!/bin/sh\nexec cat "+m.Path("journal")+"\n", 0o700)
	lock, err := lockfile.AcquireState(m.Path("state"))
	check.OK(t, err)
	defer lock.Release()
	check.OK(t, lock.Describe(lockfile.Holder{PID: os.Getpid(), Log: lockfile.LogLocation{Unit: "--user-unit=claw.service"}}))
	same(m.Command(exitcode.OK, "logs", "--json").Out.String())
	m.Write("bin/journalctl", "#!/bin/sh\nprintf 'no end of line'\n", 0o700)
	m.Command(exitcode.OK, "logs", "--json").Prints(`{"msg":"no end of line"}` + "\n")
}

// sameJSON reports whether two texts are the same JSON value, or the same text.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}

// TestLogOfADetachedGateway has stderr be the log, as where no service manager keeps
// it: each line is there once, also after another process has taken over a log that
// was rotated.
func TestLogOfADetachedGateway(t *testing.T) {
	t.Parallel()
	for _, where := range []string{string(config.LogFileAuto), string(config.LogFileOff), "elsewhere/claw.log"} {
		t.Run(filepath.Base(where), func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			usual := m.Path("state/" + logfile.Name)
			path := usual
			if strings.Contains(where, "/") {
				where = m.Path(where)
				path = where
			}
			m.Env = append(m.Env, "BARECLAW_LOG_FILE="+where)
			if _, err := (detached.Gateway{Self: m.Executable(), Dir: m.Path("work"), Environ: m.Env, Log: usual}).Start(); err != nil {
				t.Fatal(err)
			}
			said := func(what string) int {
				b, _ := os.ReadFile(path) // it may not be there yet
				return strings.Count(string(b), what)
			}
			m.Eventually("it is ready", func() bool { return said(`"msg":"ready"`) > 0 })
			if n := said(`"msg":"ready"`); n != 1 {
				t.Errorf("it says %d times that it is ready", n)
			}
			check.OK(t, os.Rename(path, logfile.Path(path, 1))) // as the rotation by another one does
			m.Command(exitcode.OK, "restart")
			m.Eventually("the second process is ready", func() bool { return said(`"msg":"ready"`) > 0 })
			if n := said(`"msg":"ready"`); n != 1 {
				t.Errorf("the second process says %d times that it is ready", n)
			}
			if b, err := os.ReadFile(usual); path != usual && (err != nil || len(b) != 0) {
				t.Errorf("%s is %q, %v", logfile.Name, b, err)
			}
			h := m.LockFile()
			if path == usual {
				if out, err := os.Stat(fmt.Sprintf("/proc/%d/fd/2", h.PID)); err == nil { // where the system shows it
					if now, err := os.Stat(path); err != nil || !os.SameFile(out, now) {
						t.Errorf("a panic would go elsewhere than to %s", path)
					}
				}
			}
			check.OK(t, proc.Signal(h.PID, h.Start, syscall.SIGTERM))
			m.Eventually("it has left", func() bool { return said(`"msg":"ended"`) > 0 })
			if n := said(`"msg":"ended"`); n != 1 {
				t.Errorf("it says %d times that it has ended", n)
			}
		})
	}
}

// A following is a `bareclaw logs -f` that prints to a file.
type following struct {
	*harness.Machine
	cmd *exec.Cmd
}

func follow(m *harness.Machine, lines string, flags ...string) *following {
	m.T.Helper()
	out, err := os.Create(m.Path("followed"))
	check.OK(m.T, err)
	f := &following{Machine: m, cmd: exec.Command(m.Executable(), append([]string{"logs", "-f", "-n", lines}, flags...)...)}
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

// TestLogsFollowedBeforeTheFirstGateway: the command waits for the log, also for its
// directory.
func TestLogsFollowedBeforeTheFirstGateway(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Installed()
	tail, err := exec.LookPath("tail")
	check.OK(t, err)
	m.Write("bin/tail", fmt.Sprintf("#!/bin/sh\ntouch %s\nexec %s \"$@\"\n", m.Path("waits"), tail), 0o700)
	f := follow(m, "100")
	m.Eventually("the file is waited for", func() bool { return len(m.Glob("waits")) > 0 })
	m.Start()
	f.shows(`"msg":"ready"`)
}

// TestLogsFollowedOverKillsAndRotation: whoever follows the log has each of its lines once,
// whatever is killed, and after each rotation.
func TestLogsFollowedOverKillsAndRotation(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Write("state/bareclaw.log", "not complete before and\nonly now", 0o600)
	m.Touch("state/daemon.lock") // as of a gateway that has not said yet where its log is
	f := follow(m, "1")
	f.shows("not complete before and\n") // all that comes from now on is followed
	path := m.Path("state/bareclaw.log")
	padded := 0
	pad := func() { // as another process would write it, once over the end of the file
		l, err := logfile.Open(path, logfile.MaxBytes)
		check.OK(t, err)
		defer func() { check.OK(t, l.Close()) }()
		for range logfile.MaxBytes >> 20 {
			padded++
			_, _ = fmt.Fprintf(l, "padding %012d %s\n", padded, strings.Repeat("x", 1<<20))
		}
	}
	g := m.Start()
	ready := func() string { return fmt.Sprintf(`"pid":%d`, m.Worker()) }
	f.shows(ready())
	for _, meanwhile := range []func(){func() {}, pad, func() {}, pad} {
		g.Kill()
		meanwhile()
		g = m.Start()
		f.shows(ready())
	}
	g.Signal(syscall.SIGTERM)
	f.shows(`"msg":"ended"`)
	var want []string
	for n := logfile.Kept; n >= 0; n-- {
		if name := logfile.Path("state/bareclaw.log", n); len(m.Glob(name)) > 0 {
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

// TestLogsFollowedByNobody: `logs -f` ends when its reader, such as head, has read enough, also
// if no further line is written to the log.
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
