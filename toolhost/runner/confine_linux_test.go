package runner

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
	"bareclaw/toolhost/api"
)

// confinedRole is the role of this program that confines itself and tries what must fail.
const confinedRole = "confined"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == confinedRole {
		beConfined(os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

// An attempt is what a confined process tries.
type attempt struct {
	name string
	do   func() error
	may  bool // whether the attempt must succeed
	abi  int  // of Landlock, from which on the kernel refuses the attempt
}

// attempts are tried with the tools directory, another directory, and the port of a server.
func attempts(tools, other, port string) []attempt {
	write := func(path string) func() error { return func() error { return os.WriteFile(path, nil, 0o600) } }
	read := func(path string) func() error {
		return func() error { _, err := os.ReadFile(path); return err }
	}
	connect := func(network, address string) func() error {
		return func() error {
			c, err := net.Dial(network, address)
			if err == nil {
				_ = c.Close()
			}
			return err
		}
	}
	return []attempt{
		{"read a tool", read(tools + "/a.ts"), true, 0},
		{"list the tools", func() error { _, err := os.ReadDir(tools); return err }, true, 0},
		{"read a tool of a directory below", read(tools + "/sub/b.ts"), true, 0},
		{"connect to the functions", connect("unix", other+"/functions.sock"), true, 0},
		{"write a tool", write(tools + "/a.ts"), false, 1},
		{"make a tool", write(tools + "/new.ts"), false, 1},
		{"remove a tool", func() error { return os.Remove(tools + "/a.ts") }, false, 1},
		{"rename a tool", func() error { return os.Rename(tools+"/a.ts", tools+"/b.ts") }, false, 1},
		{"truncate a tool", func() error { return os.Truncate(tools+"/a.ts", 0) }, false, 3},
		{"run a program of the tools", func() error { return exec.Command(tools + "/run").Run() }, false, 1},
		{"write elsewhere", write(other + "/new"), false, 1},
		{"write to the temporary directory", func() error { _, err := os.CreateTemp("", "x"); return err }, false, 1},
		{"read elsewhere", read(other + "/secret"), false, 1},
		{"read by a link", read(tools + "/link.ts"), false, 1},
		{"read /etc/passwd", read("/etc/passwd"), false, 1},
		{"read the environment of others", read(fmt.Sprintf("/proc/%d/environ", os.Getppid())), false, 1},
		{"read this program", read("/proc/self/exe"), false, 1},
		{"list /", func() error { _, err := os.ReadDir("/"); return err }, false, 1},
		{"run a program", func() error { return exec.Command("/bin/sh", "-c", "true").Run() }, false, 1},
		{"run this program", func() error { return exec.Command("/proc/self/exe").Run() }, false, 1},
		{"trace the parent", func() error { return unix.PtraceAttach(os.Getppid()) }, false, 1},
		{"connect by TCP", connectTCP(unix.IPPROTO_TCP, "127.0.0.1:"+port), false, 4},
		{"connect by MPTCP", connectTCP(unix.IPPROTO_MPTCP, "127.0.0.1:"+port), false, 4},
		{"listen on TCP", listenTCP, false, 4},
		{"send by UDP", connect("udp", "127.0.0.1:"+port), false, 1},
		{"signal the parent", func() error { return syscall.Kill(os.Getppid(), 0) }, false, 6},
		{"connect to another socket", connect("unix", other+"/api.sock"), false, 9},
	}
}

// connectTCP connects as C programs do: the dialer of Go prefers MPTCP, which Landlock does not know.
func connectTCP(protocol int, address string) func() error {
	return func() error {
		a, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		return unix.Connect(fd, &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())})
	}
}

func listenTCP() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Bind(fd, &unix.SockaddrInet4{})
}

// beConfined confines the process, tries, and prints the errors by the name of the attempt.
func beConfined(args []string) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := confine(api.Bootstrap{ToolsDir: args[0], Functions: args[1] + "/functions.sock"}, log); err != nil {
		log.Error("not confined", "err", err)
		os.Exit(1)
	}
	errs := map[string]string{}
	for _, a := range attempts(args[0], args[1], args[2]) {
		if err := a.do(); err != nil {
			errs[a.name] = err.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(errs); err != nil {
		os.Exit(1)
	}
}

// TestConfined: the kernel refuses the process whatever it does not need.
func TestConfined(t *testing.T) {
	t.Parallel()
	abi := landlockABI()
	if abi == 0 {
		roottest.Unavailable(t, "what the kernel refuses the tool host: this kernel has no Landlock")
	}
	tools, other := t.TempDir(), shortDir(t)
	fillFor(t, tools, other)
	for _, name := range []string{"functions.sock", "api.sock"} {
		l, err := net.Listen("unix", filepath.Join(other, name))
		check.OK(t, err)
		defer func() { _ = l.Close() }()
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	check.OK(t, err)
	defer func() { _ = tcp.Close() }()
	port := strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port)

	errs, says := confined(t, tools, other, port)
	for _, a := range attempts(tools, other, port) {
		problem := errs[a.name]
		switch {
		case a.may && problem != "":
			t.Errorf("%s: %s", a.name, problem)
		case !a.may && problem == "" && abi < a.abi:
			t.Logf("NOT TESTED: %s: this kernel has Landlock %d, not %d", a.name, abi, a.abi)
		case !a.may && !strings.Contains(problem, "permission denied") && !strings.Contains(problem, "not permitted"):
			t.Errorf("%s: %q is no refusal", a.name, problem)
		}
	}
	if says != "" {
		t.Errorf("the process says %s", says)
	}
}

// TestConfinedWithoutTools: a tools directory that cannot be one takes no other restriction away.
func TestConfinedWithoutTools(t *testing.T) {
	t.Parallel()
	if landlockABI() == 0 {
		roottest.Unavailable(t, "what the kernel refuses the tool host: this kernel has no Landlock")
	}
	other := shortDir(t)
	check.OK(t, os.WriteFile(filepath.Join(other, "file"), nil, 0o600))
	check.OK(t, os.Symlink("nowhere", filepath.Join(other, "dangling")))
	for _, name := range []string{"file", "dangling", "missing"} {
		errs, says := confined(t, filepath.Join(other, name), other, "1")
		if !strings.Contains(errs["read /etc/passwd"], "permission denied") || says != "" {
			t.Errorf("%s: reading says %q, the process says %s", name, errs["read /etc/passwd"], says)
		}
	}
}

// confined starts the process that tries, and returns the errors and what else it says.
func confined(t *testing.T, args ...string) (errs map[string]string, says string) {
	t.Helper()
	self, err := os.Executable()
	check.OK(t, err)
	cmd := exec.Command(self, append([]string{confinedRole}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	check.OK(t, json.Unmarshal(out, &errs))
	return errs, stderr.String()
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

// landlockABI returns the version of the kernel's Landlock; 0: none.
func landlockABI() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}
