package setup

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

func TestDoctorOfADiskThatIsSmallAndReadOnly(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.SmallDisk("state", "2m")
	d := m.Quick()
	d.Tells(doctor.Warning, "state_file_system", "tmpfs", "BARECLAW_STATE_DIR")
	d.Tells(doctor.Problem, "disk_full", m.Path("state"))
	m.Write("state/tools/a.ts", "", 0o600)
	m.Write("state/snapshots/initial_1/metadata.json", "{}", 0o600)
	m.Remount(syscall.MS_RDONLY)
	m.Set("BARECLAW_CWD=" + m.Path("state"))
	d = m.Quick()
	d.Tells(doctor.Problem, "directory_unusable", "read-only")
	d.Tells(doctor.Problem, "cwd_unwritable", m.Path("state"))
	d.Tells(doctor.Warning, "tools_unwritable", "BARECLAW_TOOLS_DIR", m.Path("state/tools"))
	if n := strings.Count(d.Raw, `"tools_unwritable"`); n != 2 {
		t.Errorf("%d directories of tools cannot be written, want 2: tools and snapshots", n)
	}
	m.Set("BARECLAW_TOOLS_DIR=" + m.Path("state/none"))
	m.Quick().Tells(doctor.Problem, "tools_unusable", "cannot be made")
}

// TestDoctorWhereProcessesCannotBeListed has the system refuse /proc.
func TestDoctorWhereProcessesCannotBeListed(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	m := harness.NewMachine(t)
	cmd := exec.Command("strace", "-f", "-o", os.DevNull, "-P", "/proc", "-e", "trace=openat", "-e", "inject=openat:error=EACCES",
		m.Executable(), "doctor", "--json", "--no-turn")
	cmd.Env, cmd.Dir = m.Env, m.Path("work")
	out, _ := cmd.Output() // it ends with a status, since there is a problem
	d := &harness.Diagnosis{T: t, Raw: string(out)}
	if err := json.Unmarshal(out, d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d.Tells(doctor.Problem, "sessions_unknown", "list processes", "permission denied")
}

func TestDoctorOnATerminal(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_MAX_TURNS=0", "TERM=xterm")
	const wide = 60
	said := m.OnTerminal(wide, "doctor", "--no-turn")
	for _, want := range []string{"configuration  \x1b[31mproblem\x1b[0m", "\x1b[32mok\x1b[0m", "\x1b[33mwarning\x1b[0m"} {
		if !strings.Contains(said, want) {
			t.Errorf("the terminal was not told %q: %q", want, said)
		}
	}
	m.Set("NO_COLOR=1")
	if said := m.OnTerminal(wide, "doctor", "--no-turn"); strings.Contains(said, "\x1b[31m") {
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
			m := harness.NewMachine(t, "TERM=xterm", "NO_COLOR=1", "XDG_RUNTIME_DIR=/nowhere", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus")
			said := m.OnTerminal(wide, args...)
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

// TestWithoutServiceManager: what is said where none answers is for people, once; what was
// tried is told on request.
func TestWithoutServiceManager(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "XDG_RUNTIME_DIR=/nowhere", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus")
	out, errs, status := m.Run("service", "status")
	if status != 1 || out != "" || !strings.Contains(errs, "systemd") || strings.Contains(errs, "unix") || strings.Count(strings.TrimSpace(errs), "\n") != 0 {
		t.Errorf("status %d, %q", status, errs)
	}
	if _, errs, _ := m.Run("service", "status", "--verbose"); !strings.Contains(errs, "tried: ") || !strings.Contains(errs, "/nowhere/bus") {
		t.Errorf("what was tried is told as %q", errs)
	}
	if out, _, _ := m.Run("heartbeat", "status"); strings.Count(out, strings.TrimPrefix(strings.TrimSpace(errs), "bareclaw: ")) != 1 || !strings.Contains(out, "heartbeat  not installed") {
		t.Errorf("the heartbeat's status is\n%s", out)
	}
	m.Quick().Tells(doctor.Note, "service_unavailable", "")
}

// TestDoctorMendsAService has a real systemd run the gateway from files of another
// version.
func TestDoctorMendsAService(t *testing.T) {
	t.Parallel()
	harness.WithUserManager(t, "/run/home", func(t *testing.T, manager *harness.UserManager) {
		m := harness.NewMachine(t, "HOME=/run/home", "XDG_RUNTIME_DIR="+harness.RuntimeDir)
		m.Write("work/.env", "# the gateway's\n", 0o600)
		self := m.Executable()
		m.Program = filepath.Join("/run/home", "bareclaw")
		harness.CopyProgram(t, self, m.Program)
		m.Remembers()
		m.Quick().Tells(doctor.Note, "service_missing", "bareclaw service install")
		m.Quick().Tells(doctor.Warning, "gateway_down", "bareclaw start")
		for _, job := range []string{"service", "heartbeat"} {
			if out, errs, status := m.Run(job, "install"); status != 0 && job == "service" {
				t.Fatalf("%s install: status %d\n%s%s", job, status, out, errs)
			}
		}
		t.Cleanup(func() { m.Run("service", "uninstall") })
		m.Quick().Silent("service_outdated", "service_unwell", "service_inactive")

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
		check.OK(t, os.WriteFile(unitFile, []byte(changed), 0o600))
		if out, err := manager.Systemctl("daemon-reload"); err != nil {
			t.Fatalf("daemon-reload: %v: %s", err, out)
		}
		if f := m.Quick().Tells(doctor.Warning, "service_outdated", "bareclaw service install"); !f.Fixable {
			t.Error("it is not to be mended")
		}
		if f := m.Quick("--fix").Find("service_outdated"); f == nil || !f.Fixed {
			t.Errorf("it was not mended: %+v", f)
		}
		m.Quick().Silent("service_outdated")

		// A restart has built a program from the source tree: the service would start the
		// older one after a crash.
		built := m.Path("state/bin/bareclaw")
		harness.CopyProgram(t, self, built)
		m.Quick().Silent("service_older") // with BARECLAW_SOURCE=off nothing is built
		m.Set("BARECLAW_SOURCE=" + m.Path("work"))
		f := m.Quick().Tells(doctor.Warning, "service_older", m.Program, built)
		if out, _, _ := m.Run("service", "status"); !strings.Contains(out, f.Command) {
			t.Errorf("service status does not name %q:\n%s", f.Command, out)
		}
		if out, err := exec.Command("sh", "-c", f.Command).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", f.Command, err, out)
		}
		m.Quick().Silent("service_older", "service_outdated")
	})
}
