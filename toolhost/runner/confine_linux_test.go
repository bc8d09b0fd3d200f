package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"bareclaw/internal/socketpair"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
	"bareclaw/toolhost/api"
)

// confinedRole is the role of this program that confines itself and tries what must fail.
const confinedRole = "confined"

// unfilteredRole is the role of this program in which the kernel does not take the filter of system calls.
const unfilteredRole = "unfiltered"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == confinedRole {
		beConfined(os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == unfilteredRole {
		beUnfiltered()
		return
	}
	os.Exit(m.Run())
}

// beConfined confines the process, tries, and prints the errors by the name of the attempt.
func beConfined(args []string) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	p := place{args[0], args[1], args[2], os.Getppid()}
	if err := confine(api.Bootstrap{ToolsDir: p.tools}, log); err != nil {
		log.Error("not confined", "err", err)
		os.Exit(1)
	}
	outcomes := map[string]outcome{}
	for _, a := range slices.Concat(p.allowed(), p.refused(), p.reading()) {
		if err := a.do(); err != nil {
			outcomes[a.name] = outcome{err.Error(), errors.Is(err, os.ErrPermission)}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(outcomes); err != nil {
		os.Exit(1)
	}
}

// beUnfiltered tries to confine a process that has a thread with another filter, and prints the error.
func beUnfiltered() {
	installed := make(chan error)
	go func() { // ends with the process
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = install([]bpf.Instruction{allow}, 0)
		}
		installed <- err
		select {}
	}()
	if err := <-installed; err != nil {
		fmt.Println("the test has failed:", err)
		return
	}
	fmt.Println(confine(api.Bootstrap{}, slog.New(slog.DiscardHandler)))
}

// TestUnfiltered: the tool host does not go on without the filter of system calls.
func TestUnfiltered(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		roottest.Unavailable(t, "the filter of system calls: there is none for this processor")
	}
	self, err := os.Executable()
	check.OK(t, err)
	out, err := exec.Command(self, unfilteredRole).Output()
	check.OK(t, err)
	if !strings.HasPrefix(string(out), "filter system calls: ") {
		t.Errorf("the outcome is %s", out)
	}
}

// An outcome is how an attempt has failed; the zero value means that it has not.
type outcome struct {
	Problem string
	Refused bool // with EPERM or EACCES
}

// TestConfined: the kernel refuses the process whatever it does not need, and lets it do the rest. What
// only Landlock refuses is a test of its own, which a kernel without Landlock cannot run.
func TestConfined(t *testing.T) {
	t.Parallel()
	tools, other := t.TempDir(), shortDir(t)
	fillFor(t, tools, other)
	for _, path := range []string{other + "/api.sock", other + "/bus", "@bareclaw-test"} {
		l, err := net.Listen("unix", path)
		check.OK(t, err)
		defer func() { _ = l.Close() }()
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	check.OK(t, err)
	defer func() { _ = tcp.Close() }()
	port := strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port)

	outcomes, says := confined(t, tools, other, port)
	p := place{tools: tools, other: other, port: port}
	for _, a := range p.allowed() {
		if got := outcomes[a.name]; got != (outcome{}) {
			t.Errorf("%s: %s", a.name, got.Problem)
		}
	}
	for _, a := range p.refused() {
		outcomes[a.name].mustBeRefused(t, a)
	}
	t.Run("reading", func(t *testing.T) {
		t.Parallel()
		needLandlock(t)
		for _, a := range p.reading() {
			outcomes[a.name].mustBeRefused(t, a)
		}
	})
	if st, err := os.Stat(other + "/secret"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the secret has mode %v, %v", st.Mode(), err)
	}
	if says != "" {
		t.Errorf("the process says %s", says)
	}
}

func (o outcome) mustBeRefused(t *testing.T, a attempt) {
	t.Helper()
	if !o.Refused {
		t.Errorf("%s: %q is not a refusal", a.name, o.Problem)
	}
}

// needLandlock ends a test of what only Landlock refuses where the kernel has none.
func needLandlock(t *testing.T) {
	t.Helper()
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		roottest.Unavailable(t, "what only Landlock refuses the tool host: this kernel has none")
	}
}

// TestConfinedWithoutTools: a tools directory that cannot be one takes no other restriction away.
func TestConfinedWithoutTools(t *testing.T) {
	t.Parallel()
	needLandlock(t)
	other := shortDir(t)
	check.OK(t, os.WriteFile(filepath.Join(other, "file"), nil, 0o600))
	check.OK(t, os.Symlink("nowhere", filepath.Join(other, "dangling")))
	for _, name := range []string{"file", "dangling", "missing"} {
		outcomes, says := confined(t, filepath.Join(other, name), other, "1")
		if got := outcomes["read /etc/passwd"]; !got.Refused || says != "" {
			t.Errorf("%s: reading says %q, the process says %s", name, got.Problem, says)
		}
	}
}

// confined starts the process that tries, and returns the outcomes and what else it says.
func confined(t *testing.T, args ...string) (outcomes map[string]outcome, says string) {
	t.Helper()
	self, err := os.Executable()
	check.OK(t, err)
	ours, theirs, err := socketpair.New("connection")
	check.OK(t, err)
	defer func() { _ = ours.Close() }()
	_, err = ours.Write([]byte("x"))
	check.OK(t, err)
	cmd := exec.Command(self, append([]string{confinedRole}, args...)...)
	cmd.ExtraFiles = []*os.File{theirs} // becomes connectionFD
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	_ = theirs.Close()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	check.OK(t, json.Unmarshal(out, &outcomes))
	return outcomes, stderr.String()
}

func fillFor(t *testing.T, tools, other string) {
	t.Helper()
	check.OK(t, os.Mkdir(filepath.Join(tools, "sub"), 0o700))
	for _, path := range []string{tools + "/a.ts", tools + "/sub/b.ts", other + "/secret"} {
		check.OK(t, os.WriteFile(path, nil, 0o600))
	}
	check.OK(t, os.Symlink(other+"/secret", tools+"/link.ts"))
	program, err := os.ReadFile("/bin/true")
	check.OK(t, err)
	check.OK(t, os.WriteFile(tools+"/run", program, 0o700))
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "th")
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, os.RemoveAll(dir)) })
	return dir
}
