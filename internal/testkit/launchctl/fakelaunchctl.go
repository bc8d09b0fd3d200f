// Package launchctl stands in for launchctl where there is no launchd. It takes
// the commands that we give, refuses with the exit statuses of launchd, and starts and
// stops what plists say; but it watches over nothing: no job is started again, and no
// interval elapses. It shows what we ask of launchd, not what launchd does.
package launchctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"howett.net/plist"
)

// Variable names the directory in which launchd's state is kept.
const Variable = "FAKELAUNCHCTL_DIR"

// Exit statuses of launchctl.
const (
	ok          = 0
	usage       = 64
	noSuch      = 3   // bootout of a job that is not there
	ioError     = 5   // bootstrap of one that is, and of a plist that cannot be read
	notFound    = 113 // anything else with one that is not there
	permissions = 122 // a plist that others may write
)

// A job is one that is loaded.
type job struct {
	Path string
	PID  int
	Runs int
}

// A description is what of a plist matters here.
type description struct {
	Label                string
	ProgramArguments     []string
	WorkingDirectory     string
	EnvironmentVariables map[string]string
	RunAtLoad            bool
	KeepAlive            any
	StandardOutPath      string
	StandardErrorPath    string
}

// A launchd is the state that is kept from one call to the next.
type launchd struct {
	dir    string
	stderr io.Writer
}

// Run carries out one call and returns its exit status.
func Run(args []string, stdout, stderr io.Writer) int {
	l := launchd{dir: os.Getenv(Variable), stderr: stderr}
	if l.dir == "" || len(args) == 0 {
		return l.says(usage, "%s is not set, or there is no command", Variable)
	}
	if err := l.record(args); err != nil {
		return l.says(usage, "%v", err)
	}
	last := args[len(args)-1]
	switch args[0] {
	case "print":
		return l.print(last, stdout)
	case "bootstrap":
		if len(args) != 3 || args[1] != domain() {
			return l.says(usage, "bootstrap: %q is not a domain and a path", args[1:])
		}
		return l.load(last)
	case "bootout":
		return l.bootout(last)
	case "enable":
		return ok
	case "kickstart":
		return l.kickstart(last)
	case "load", "unload": // of old, which tell little
		return l.legacy(args[0], last)
	}
	return l.says(usage, "Unrecognized subcommand: %s", args[0])
}

func domain() string { return "gui/" + strconv.Itoa(os.Getuid()) }

func (l launchd) says(status int, format string, a ...any) int {
	_, _ = fmt.Fprintf(l.stderr, format+"\n", a...)
	return status
}

// record notes a call for tests to look at.
func (l launchd) record(args []string) error {
	f, err := os.OpenFile(filepath.Join(l.dir, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = fmt.Fprintln(f, strings.Join(args, " "))
	return err
}

func (l launchd) file(label string) string { return filepath.Join(l.dir, label+".json") }

// job returns a job that is loaded, by its target.
func (l launchd) job(target string) (label string, j job, found bool) {
	label, inDomain := strings.CutPrefix(target, domain()+"/")
	b, err := os.ReadFile(l.file(label))
	return label, j, inDomain && err == nil && json.Unmarshal(b, &j) == nil
}

func (l launchd) keep(label string, j job) int {
	b, err := json.Marshal(j)
	if err == nil {
		err = os.WriteFile(l.file(label), b, 0o600)
	}
	if err != nil {
		return l.says(ioError, "%v", err)
	}
	return ok
}

func (l launchd) print(target string, stdout io.Writer) int {
	if target == domain() {
		return ok
	}
	label, j, found := l.job(target)
	if !found {
		return l.says(notFound, "Bad request.\nCould not find service %q in domain for user gui: %d", label, os.Getuid())
	}
	state, pid := "not running", ""
	if running(j.PID) {
		state, pid = "running", fmt.Sprintf("\tpid = %d\n", j.PID)
	}
	_, _ = fmt.Fprintf(stdout, "%s = {\n\tactive count = 1\n\tpath = %s\n\ttype = LaunchAgent\n\tstate = %s\n%s\truns = %d\n\tlast exit code = (never exited)\n}\n",
		target, j.Path, state, pid, j.Runs)
	return ok
}

func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return pid > 0 && err == nil && !strings.Contains(string(stat), ") Z ")
}

func read(path string) (d description, status int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return d, ioError, err
	}
	if info.Mode()&0o022 != 0 {
		return d, permissions, errors.New("path had bad ownership/permissions")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return d, ioError, err
	}
	if _, err := plist.Unmarshal(b, &d); err != nil || d.Label == "" || len(d.ProgramArguments) == 0 {
		return d, ioError, errors.Join(errors.New("not the plist of a job"), err)
	}
	return d, ok, nil
}

func (l launchd) load(path string) int {
	d, status, err := read(path)
	if err != nil {
		return l.says(status, "Bootstrap failed: %d: %v", status, err)
	}
	if _, _, found := l.job(domain() + "/" + d.Label); found {
		return l.says(ioError, "Bootstrap failed: 5: Input/output error")
	}
	j := job{Path: path}
	if d.RunAtLoad || d.KeepAlive != nil {
		if err := j.start(d); err != nil {
			return l.says(ioError, "Bootstrap failed: 5: %v", err)
		}
	}
	return l.keep(d.Label, j)
}

// start runs a job's program, with the environment that launchd would give it.
func (j *job) start(d description) error {
	out, err := appendTo(d.StandardOutPath)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	errs, err := appendTo(d.StandardErrorPath)
	if err != nil {
		return err
	}
	defer func() { _ = errs.Close() }()
	cmd := exec.Command(d.ProgramArguments[0], d.ProgramArguments[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.WorkingDirectory, out, errs
	cmd.Env = []string{"HOME=" + os.Getenv("HOME"), "PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	for name, value := range d.EnvironmentVariables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	j.PID, j.Runs = cmd.Process.Pid, j.Runs+1
	return cmd.Process.Release()
}

func appendTo(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func (l launchd) bootout(target string) int {
	label, j, found := l.job(target)
	if !found {
		return l.says(noSuch, "Boot-out failed: 3: No such process")
	}
	if running(j.PID) {
		_ = syscall.Kill(j.PID, syscall.SIGTERM)
	}
	for deadline := time.Now().Add(20 * time.Second); running(j.PID) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if err := os.Remove(l.file(label)); err != nil {
		return l.says(ioError, "%v", err)
	}
	return ok
}

func (l launchd) kickstart(target string) int {
	label, j, found := l.job(target)
	if !found {
		return l.says(notFound, "Could not find service %q in domain for user gui: %d", label, os.Getuid())
	}
	if running(j.PID) {
		return ok
	}
	d, status, err := read(j.Path)
	if err == nil {
		err = j.start(d)
	}
	if err != nil {
		return l.says(status, "%v", err)
	}
	return l.keep(label, j)
}

// legacy is load and unload by path, which always end with 0.
func (l launchd) legacy(command, path string) int {
	d, _, err := read(path)
	if err != nil {
		_, _ = fmt.Fprintf(l.stderr, "%s: %v\n", path, err)
		return ok
	}
	var status int
	if command == "load" {
		status = l.load(path)
	} else {
		status = l.bootout(domain() + "/" + d.Label)
	}
	if status != ok {
		_, _ = fmt.Fprintf(l.stderr, "%s failed: 5: Input/output error\n", command)
	}
	return ok
}
