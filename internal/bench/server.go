package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/proc"
)

const (
	readyWithin = 20 * time.Second
	stopWithin  = 15 * time.Second
	markName    = "BENCH_MARK" // in the environment of every process of a server
)

// A server is a daemon that runs, with what belongs to it.
type server struct {
	target
	addr  string // 127.0.0.1:port
	mode  mode
	ready time.Duration // from exec to the first good answer

	lab     *lab
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has been waited for
	dir     string        // nobody else's: it is also the mark
	runtime string        // for sockets, whose paths must be short
}

// mode says how the fake claude behaves.
type mode string

const (
	instant  mode = "FAKECLAUDE_INSTANT=1"         // every message is answered at once
	scripted mode = "FAKECLAUDE_NOTRANSCRIPT=true" // messages are directives
)

// start runs a server of the target and waits until it answers.
func (l *lab) start(ctx context.Context, t target, m mode) (*server, error) {
	l.count++
	s := &server{target: t, lab: l, mode: m, dir: filepath.Join(l.dir, strconv.Itoa(l.count))}
	err := s.prepare()
	if err == nil {
		err = s.exec()
	}
	if err != nil {
		return nil, errors.Join(err, s.clean())
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w%s", t.name, err, s.lastWords()), s.stop())
	}
	return s, nil
}

// prepare makes directories and chooses a loopback address that nobody listens on.
func (s *server) prepare() (err error) {
	for _, name := range []string{"home", "bin", "state"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(s.dir, name), 0o700))
	}
	err = errors.Join(err, os.Symlink(s.claude, filepath.Join(s.dir, "bin", "claude")))
	if err != nil {
		return err
	}
	if s.runtime, err = os.MkdirTemp("", "bc"); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		return err
	}
	s.addr = l.Addr().String()
	return l.Close()
}

// exec starts the process. It inherits nothing but where programs and
// temporary files are.
func (s *server) exec() error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	home := filepath.Join(s.dir, "home")
	_, port, _ := net.SplitHostPort(s.addr)
	s.cmd = exec.Command(s.command[0], s.command[1:]...) //nolint:noctx // it is stopped by its own signal, not killed
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = home, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the benchmark: it stops the server itself
	s.cmd.Env = append([]string{
		markName + "=" + s.dir, string(s.mode), "HOME=" + home, "TMPDIR=" + os.TempDir(),
		"PATH=" + filepath.Join(s.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_STATE_HOME=" + filepath.Join(home, ".local/state"),
		"XDG_RUNTIME_DIR=" + s.runtime,
		"BARECLAW_PORT=" + port, "BARECLAW_CWD=" + home, "BARECLAW_STATE_DIR=" + filepath.Join(s.dir, "state"),
		"BARECLAW_RUNTIME_DIR=" + s.runtime, "BARECLAW_CLAUDE=" + s.claude, "BARECLAW_AGENT=claude",
		"BARECLAW_LOG_LEVEL=warn", "BARECLAW_SOURCE=off", "BARECLAW_MAX_SESSIONS=1000",
		proc.ReadableVariable + "=1", // the sizes of its processes are measured
	}, s.settings...)
	s.exited = make(chan struct{})
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ready = time.Since(began) // awaitReady adds the rest
	go func() {                 // ends with the process
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	return nil
}

// startAnew kills the process and starts it again on what it left.
func (s *server) startAnew(ctx context.Context) error {
	_ = s.cmd.Process.Signal(syscall.SIGSTOP) // it starts no other worker then
	_ = syscall.Kill(s.daemon(), syscall.SIGKILL)
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.exited
	if err := s.exec(); err != nil {
		return err
	}
	return s.awaitReady(ctx)
}

func (s *server) awaitReady(ctx context.Context) error {
	began := time.Now()
	for {
		if c, err := dial(s.addr); err == nil {
			status, _, err := c.do(s.request(http.MethodGet, "/health"), time.Second)
			_ = c.Close()
			if err == nil && (status == http.StatusOK || !s.health) {
				s.ready += time.Since(began)
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.exited:
			return errors.New("it exited: " + s.cmd.ProcessState.String())
		case <-time.After(250 * time.Microsecond):
		}
		if time.Since(began) > readyWithin {
			return fmt.Errorf("not ready within %s", readyWithin)
		}
	}
}

// stop ends the daemon as Ctrl-C does, which ends the session hosts too. What
// is left of its processes after that is reported and ended.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err == nil {
		select {
		case <-s.exited:
		case <-time.After(stopWithin):
			fmt.Fprintf(s.lab.log, "bench: %s did not stop within %s\n", s.name, stopWithin)
			_ = s.cmd.Process.Kill()
			<-s.exited
		}
	}
	gone := func() bool { return len(s.processes()) == 0 }
	if await(context.Background(), s.lab.plan.patience, 10*time.Millisecond, gone) != nil {
		left := s.processes()
		fmt.Fprintf(s.lab.log, "bench: %s left %d processes behind\n", s.name, len(left))
		for _, p := range left {
			_ = proc.Signal(p.PID, p.Start, syscall.SIGKILL)
		}
	}
	return s.clean()
}

func (s *server) clean() error {
	return errors.Join(os.RemoveAll(s.dir), os.RemoveAll(s.runtime))
}

// lastWords returns the end of the server's log, for an error.
func (s *server) lastWords() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return ""
	}
	return "; its log ends:\n" + string(text[max(0, len(text)-2000):])
}

// processes returns all that the server has started, itself included; none where the system
// does not show them.
func (s *server) processes() []proc.Process {
	all, _ := proc.ByEnviron(markName, func(value string) bool { return value == s.dir })
	return all
}

// others returns the server's processes besides the daemon and its supervisor.
func (s *server) others() []proc.Process {
	return slices.DeleteFunc(s.processes(), func(p proc.Process) bool { return p.PID == s.cmd.Process.Pid || isWorker(p.PID) })
}

// hosts returns the process ids of the server's session hosts: every process of it
// that is neither the daemon nor a claude.
func (s *server) hosts() (pids []int) {
	for _, p := range s.others() {
		if !slices.Contains(arguments(p.PID), "--input-format") {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// daemon returns the process id of the gateway: the worker of a supervisor, or the process
// that was started.
func (s *server) daemon() int {
	for _, p := range s.processes() {
		if isWorker(p.PID) {
			return p.PID
		}
	}
	return s.cmd.Process.Pid
}

func isWorker(pid int) bool {
	args := arguments(pid)
	return len(args) > 1 && args[1] == supervisor.Subcommand
}

// cpu returns the time that the daemon, and all hosts together, have run.
func (s *server) cpu() (daemon, hosts time.Duration) {
	for _, pid := range s.hosts() {
		hosts += cpuOf(pid)
	}
	return cpuOf(s.daemon()), hosts
}
