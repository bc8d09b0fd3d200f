package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
)

// insideVariable names a file for a test binary that runs in namespaces of its own,
// next to a user's systemd. It writes there when it has one.
const insideVariable = "BARECLAW_TEST_SYSTEMD"

// A UserManager is a `systemd --user` that nobody else uses. There is no other
// process in its PID namespace but this test and what the two start.
type UserManager struct {
	t       testing.TB
	Home    string
	Env     []string
	Version int
}

// WithUserManager runs the test again in namespaces of its own, and there calls f with a
// `systemd --user`. Where that is impossible the test is skipped, or fails if
// BARECLAW_REQUIRE_SYSTEMD is 1. home is in a /run that only the test and its children see.
func WithUserManager(t *testing.T, home string, f func(*testing.T, *UserManager)) {
	if note := os.Getenv(insideVariable); note != "" {
		m := startUserManager(t, home)
		check.OK(t, os.WriteFile(note, nil, 0o600))
		f(t, m)
		return
	}
	out, ran, err := runInside(t)
	switch {
	case ran && err != nil:
		t.Errorf("next to systemd: %v\n%s", err, out)
	case ran && testing.Verbose():
		t.Logf("%s", out)
	case ran:
	case os.Getenv("BARECLAW_REQUIRE_SYSTEMD") == "1":
		t.Fatalf("no systemd for users, which must be there in CI: %v\n%s", err, out)
	default:
		t.Skipf("NOT TESTED: the gateway as a systemd unit: %v\n%s", err, out)
	}
}

// runInside runs this test again, alone, in namespaces and a control group of its
// own. ran says whether it came so far that there was a systemd.
func runInside(t *testing.T) (out []byte, ran bool, err error) {
	for _, program := range []string{"unshare", "systemctl", systemdProgram} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, false, err
		}
	}
	group, err := newControlGroup(t)
	if err != nil {
		return nil, false, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, false, err
	}
	note := filepath.Join(t.TempDir(), "running")
	cmd := exec.Command("unshare", "--mount", "--pid", "--cgroup", "--ipc", "--fork", "--mount-proc", "--kill-child",
		self, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v="+strconv.FormatBool(testing.Verbose()), "-test.parallel=8", "-test.timeout="+(10*Patience).String())
	cmd.Env = append(os.Environ(), insideVariable+"="+note)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd()), Pdeathsig: syscall.SIGKILL}
	out, err = cmd.CombinedOutput()
	_, missing := os.Stat(note)
	return out, missing == nil, err
}

// newControlGroup makes a control group for one systemd, which is removed with the
// test.
func newControlGroup(t *testing.T) (*os.File, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mounts)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[2] != "cgroup2" {
			continue
		}
		dir, err := os.MkdirTemp(words[1], "bareclaw-test-")
		if err != nil {
			return nil, fmt.Errorf("make a control group: %w", err)
		}
		t.Cleanup(func() { removeControlGroup(t, dir) })
		f, err := os.Open(dir)
		if err == nil {
			t.Cleanup(func() { _ = f.Close() })
		}
		return f, err
	}
	return nil, errors.New("no cgroup2 is mounted")
}

// removeControlGroup removes a control group and those below it once their
// processes, which have been killed, are gone.
func removeControlGroup(t *testing.T, dir string) {
	var err error
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var below []string
		_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				below = append(below, path)
			}
			return nil
		})
		err = nil
		for i := len(below) - 1; i >= 0; i-- {
			if e := os.Remove(below[i]); e != nil {
				err = e
			}
		}
		if err == nil {
			return
		}
	}
	t.Errorf("left behind: %v", err)
}

const systemdProgram = "/lib/systemd/systemd"

// RuntimeDir is the user's, in a /run that only the test and its processes see.
const RuntimeDir = "/run/user/0"

// startUserManager starts a systemd for users, which ends with this process: that is
// the first of its PID namespace. systemctl talks to it without a message bus.
func startUserManager(t *testing.T, home string) *UserManager {
	t.Helper()
	_ = unix.Unmount("/sys/fs/cgroup", unix.MNT_DETACH)
	for _, m := range []struct{ what, where string }{{"cgroup2", "/sys/fs/cgroup"}, {"tmpfs", "/run"}} {
		if err := unix.Mount(m.what, m.where, m.what, 0, ""); err != nil {
			t.Fatalf("mount %s at %s: %v", m.what, m.where, err)
		}
	}
	for _, dir := range []string{"/run/systemd/system", RuntimeDir + "/systemd/user", home} { // without the first it refuses to start
		check.OK(t, os.MkdirAll(dir, 0o700))
	}
	log := &LockedBuffer{}
	m := &UserManager{t: t, Home: home, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + RuntimeDir}}
	cmd := exec.Command(systemdProgram, "--user", "--log-target=console")
	// The generators of other packages, which run at each reload, take longer than all else.
	cmd.Env = append(slices.Clone(m.Env), "SYSTEMD_GENERATOR_PATH=/nonexistent", "SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/nonexistent")
	cmd.Stdout, cmd.Stderr = log, log
	check.OK(t, cmd.Start())
	for deadline := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		out, _ := m.Systemctl("is-system-running", "--wait")
		if out == "running" || out == "degraded" { // units of other packages may fail
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("systemd is %q\n%s", out, log)
		}
	}
	out, err := m.Systemctl("--version")
	if err != nil {
		t.Fatalf("systemctl --version: %v", err)
	}
	if m.Version, err = strconv.Atoi(strings.Fields(out)[1]); err != nil {
		t.Fatalf("version of systemd: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of systemd:\n%s", log)
		}
	})
	return m
}

// Systemctl runs a command of the user's systemd and returns what it says.
func (m *UserManager) Systemctl(args ...string) (string, error) {
	cmd := exec.Command("systemctl", append([]string{"--user"}, args...)...)
	cmd.Env = m.Env
	out, err := cmd.CombinedOutput()
	return string(bytes.TrimSpace(out)), err
}
