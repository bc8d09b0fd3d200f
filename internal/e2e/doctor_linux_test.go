package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"bareclaw/internal/cli/doctor"
)

func TestDoctorOfADiskThatIsSmallAndReadOnly(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.smallDisk()
	d := m.quick()
	d.tells(doctor.Warning, "state_file_system", "tmpfs", "BARECLAW_STATE_DIR")
	d.tells(doctor.Problem, "disk_full", m.path("state"))
	m.remount(syscall.MS_RDONLY)
	m.set("BARECLAW_CWD=" + m.path("state"))
	d = m.quick()
	d.tells(doctor.Problem, "directory_unusable", "read-only")
	d.tells(doctor.Problem, "cwd_unwritable", m.path("state"))
}

// TestDoctorWhereProcessesCannotBeListed has the system refuse /proc.
func TestDoctorWhereProcessesCannotBeListed(t *testing.T) {
	t.Parallel()
	needStrace(t)
	m := newMachine(t)
	cmd := exec.Command("strace", "-f", "-o", os.DevNull, "-P", "/proc", "-e", "trace=openat", "-e", "inject=openat:error=EACCES",
		m.executable(), "doctor", "--json", "--no-turn")
	cmd.Env, cmd.Dir = m.env, m.path("work")
	out, _ := cmd.Output() // it ends with a status, since there is a problem
	d := &diagnosis{t: t, raw: string(out)}
	if err := json.Unmarshal(out, d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d.tells(doctor.Problem, "sessions_unknown", "list processes", "permission denied")
}

// openTerminal returns both ends of a new terminal of that width: pty(7).
func openTerminal(t *testing.T, columns uint16) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("NOT TESTED: what a terminal shows: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skipf("NOT TESTED: what a terminal shows: %v", err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}

// onTerminal runs the program on a terminal and returns what that was told.
func (m *machine) onTerminal(columns uint16, args ...string) string {
	m.t.Helper()
	screen, terminal := openTerminal(m.t.(*testing.T), columns)
	self := bareclaw(m.t)
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = m.env, m.path("work"), terminal, terminal
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	_ = terminal.Close() // so that the screen ends with the program
	var said bytes.Buffer
	if _, err := io.Copy(&said, screen); err != nil && !errors.Is(err, syscall.EIO) {
		m.t.Fatal(err)
	}
	_ = cmd.Wait() // its status tells what it found
	return said.String()
}

func TestDoctorOnATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_MAX_TURNS=0", "TERM=xterm")
	const wide = 60
	said := m.onTerminal(wide, "doctor", "--no-turn")
	for _, want := range []string{"of 14 done, looking at: ", "\r\x1b[Kconfiguration  \x1b[31mproblem\x1b[0m", "\x1b[32mok\x1b[0m", "\x1b[33mwarning\x1b[0m"} {
		if !strings.Contains(said, want) {
			t.Errorf("the terminal was not told %q: %q", want, said)
		}
	}
	shown := regexp.MustCompile(`\x1b\[[0-9]*[mK]`).ReplaceAllString(said, "")
	for line := range strings.Lines(shown) {
		if i := strings.LastIndex(strings.TrimRight(line, "\r\n"), "\r"); i >= 0 {
			line = line[i+1:]
		}
		if words := strings.Fields(line); len(words) > 0 && words[0] != "→" && !strings.Contains(line, m.dir) && len([]rune(strings.TrimSpace(line))) > wide {
			t.Errorf("a line is wider than the terminal: %q", line)
		}
	}
	m.set("NO_COLOR=1")
	if said := m.onTerminal(wide, "doctor", "--no-turn"); strings.Contains(said, "\x1b[31m") {
		t.Errorf("colours in spite of NO_COLOR: %q", said)
	}
}

// TestNoTerminalBreaksAWord has commands speak on a narrow terminal: none of their lines
// is wider, but for one with a path or a command that is too long for any.
func TestNoTerminalBreaksAWord(t *testing.T) {
	t.Parallel()
	const wide, margin = 60, 16
	word := regexp.MustCompile("`[^`]*`\\S*|\\S+")
	for name, args := range map[string][]string{
		"init":      {"init", "--yes", "--agent", "echo", "--no-turn", "--no-service", "--no-start"},
		"doctor":    {"doctor", "--no-turn"},
		"heartbeat": {"heartbeat", "status"},
		"service":   {"service", "status"},
		"status":    {"status"},
		"schedule":  {"schedule", "add", "desk", "tea"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "TERM=xterm", "NO_COLOR=1", "XDG_RUNTIME_DIR=/nowhere", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus")
			said := m.onTerminal(wide, args...)
			if len(said) < wide {
				t.Errorf("it says only %q", said)
			}
			for line := range strings.Lines(strings.ReplaceAll(said, "\r\n", "\n")) {
				line = strings.TrimRight(line[strings.LastIndex(line, "\r")+1:], "\n")
				line = strings.TrimPrefix(line, "\x1b[K")
				long := slices.ContainsFunc(word.FindAllString(line, -1), func(s string) bool { return len(s) > wide-margin })
				if !long && utf8.RuneCountInString(line) > wide {
					t.Errorf("a line is wider than the terminal: %q", line)
				}
			}
		})
	}
}

// TestWithoutServiceManager: what is said where none answers is for people, what was
// tried comes last.
func TestWithoutServiceManager(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "XDG_RUNTIME_DIR=/nowhere", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus")
	out, errs, status := m.run("service", "status")
	words, tried, found := strings.Cut(errs, " (what was tried: ")
	if status != 1 || out != "" || !found || !strings.HasPrefix(words, "bareclaw: no service manager answers: ") || strings.Contains(words, "unix") {
		t.Errorf("status %d, %q", status, errs)
	}
	if strings.Count(strings.TrimSpace(errs), "\n") != 0 || !strings.Contains(tried, "/nowhere/bus") || !strings.HasSuffix(tried, ")\n") {
		t.Errorf("what was tried is told as %q", tried)
	}
	if out, _, _ := m.run("heartbeat", "status"); !strings.Contains(out, "\nproblem    no service manager answers: ") || !strings.Contains(out, "heartbeat  not installed") {
		t.Errorf("the heartbeat's status is\n%s", out)
	}
	m.quick().tells(doctor.Note, "service_unavailable", "")
}

// TestDoctorMendsAService has a real systemd run the gateway from files of another
// version.
func TestDoctorMendsAService(t *testing.T) {
	t.Parallel()
	withUserManager(t, func(t *testing.T, manager *userManager) {
		m := newMachine(t, "HOME=/run/home", "XDG_RUNTIME_DIR="+runtimeDir)
		m.write("work/.env", "# the gateway's\n", 0o600)
		self := m.executable()
		m.program = filepath.Join("/run/home", "bareclaw")
		copyProgram(t, self, m.program)
		m.quick().tells(doctor.Note, "service_missing", "bareclaw service install")
		m.quick().tells(doctor.Warning, "gateway_down", "bareclaw service install")
		for _, job := range []string{"service", "heartbeat"} {
			if out, errs, status := m.run(job, "install"); status != 0 && job == "service" {
				t.Fatalf("%s install: status %d\n%s%s", job, status, out, errs)
			}
		}
		t.Cleanup(func() { m.run("service", "uninstall") })
		m.quick().silent("service_outdated", "service_unwell", "service_inactive")

		files, err := filepath.Glob("/run/home/.config/systemd/user/bareclaw*.service")
		if err != nil || len(files) == 0 {
			t.Fatalf("unit files: %v, %v", files, err)
		}
		unitFile := filepath.Join("/run/home/.config/systemd/user", "bareclaw.service")
		b, err := os.ReadFile(unitFile)
		if err != nil {
			t.Fatalf("%v, there are %v", err, files)
		}
		changed := strings.Replace(string(b), "KillMode=process", "KillMode=mixed", 1)
		if changed == string(b) {
			t.Fatalf("unit: %s", b)
		}
		if err := os.WriteFile(unitFile, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := manager.systemctl("daemon-reload"); err != nil {
			t.Fatalf("daemon-reload: %v: %s", err, out)
		}
		if f := m.quick().tells(doctor.Warning, "service_outdated", "bareclaw service install"); !f.Fixable {
			t.Error("it is not to be mended")
		}
		if f := m.quick("--fix").find("service_outdated"); f == nil || !f.Fixed {
			t.Errorf("it was not mended: %+v", f)
		}
		m.quick().silent("service_outdated")

		// A restart has built a program from the source tree: the service would start the
		// older one after a crash.
		built := m.path("state/bin/bareclaw")
		copyProgram(t, self, built)
		m.quick().silent("service_older") // with BARECLAW_SOURCE=off nothing is built
		m.set("BARECLAW_SOURCE=" + m.path("work"))
		f := m.quick().tells(doctor.Warning, "service_older", m.program, built)
		if out, _, _ := m.run("service", "status"); !strings.Contains(out, f.Command) {
			t.Errorf("service status does not name %q:\n%s", f.Command, out)
		}
		if out, err := exec.Command("sh", "-c", f.Command).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", f.Command, err, out)
		}
		m.quick().silent("service_older", "service_outdated")
	})
}
