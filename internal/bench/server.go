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
	"strings"
	"syscall"
	"time"

	"bareclaw/heartbeat/supervisor"
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
	port  string
	mode  mode
	text  string        // of short messages
	ready time.Duration // from exec to the first good answer

	lab     *lab
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has been waited for
	mark    string        // NAME=value
	dir     string
	runtime string // for sockets, whose paths must be short
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
	s := &server{target: t, lab: l, text: helloText}
	if err := s.makeDirs(l.count); err != nil {
		return nil, err
	}
	addr, port, err := freePort()
	if err != nil {
		return nil, err
	}
	s.addr, s.port, s.mode = addr, port, m
	s.mark = markName + "=" + s.dir // nobody else's
	if err := s.exec(); err != nil {
		return nil, errors.Join(err, s.clean())
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w%s", t.name, err, s.lastWords()), s.stop())
	}
	return s, nil
}

func (s *server) makeDirs(n int) (err error) {
	s.dir = filepath.Join(s.lab.dir, strconv.Itoa(n))
	for _, name := range []string{"home", "bin", "state"} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o700); err != nil {
			return err
		}
	}
	if err := os.Symlink(s.claude, filepath.Join(s.dir, "bin", "claude")); err != nil {
		return err
	}
	s.runtime, err = os.MkdirTemp("", "bc")
	return err
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
	s.cmd = exec.Command(s.command[0], s.command[1:]...) //nolint:noctx // it is stopped by its own signal, not killed
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = home, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the benchmark: it stops the server itself
	s.cmd.Env = []string{
		s.mark, string(s.mode), "HOME=" + home, "TMPDIR=" + os.TempDir(),
		"PATH=" + filepath.Join(s.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_STATE_HOME=" + filepath.Join(home, ".local/state"),
		"XDG_RUNTIME_DIR=" + s.runtime,
		"BARECLAW_PORT=" + s.port, "BARECLAW_CWD=" + home, "BARECLAW_STATE_DIR=" + filepath.Join(s.dir, "state"),
		"BARECLAW_RUNTIME_DIR=" + s.runtime, "BARECLAW_CLAUDE=" + s.claude, "BARECLAW_AGENT=claude",
		"BARECLAW_LOG_LEVEL=warn", "BARECLAW_SOURCE=off", "BARECLAW_MAX_SESSIONS=1000",
	}
	s.cmd.Env = append(s.cmd.Env, s.settings...)
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
	request := getRequest(s.addr, "/health")
	for {
		if c, err := dial(s.addr); err == nil {
			status, _, err := c.do(request, time.Second)
			_ = c.conn.Close()
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
	if s.cmd == nil || s.cmd.Process == nil {
		return nil // not ours
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err == nil {
		select {
		case <-s.exited:
		case <-time.After(stopWithin):
			fmt.Fprintf(s.lab.log, "bench: %s did not stop within %s\n", s.name, stopWithin)
			_ = s.cmd.Process.Kill()
			<-s.exited
		}
	}
	s.sweep()
	return s.clean()
}

// sweep waits a moment for the processes that the daemon left to go, then
// kills them.
func (s *server) sweep() {
	deadline := time.Now().Add(s.lab.plan.patience)
	left := marked(s.mark)
	for len(left) > 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
		left = marked(s.mark)
	}
	if len(left) > 0 {
		fmt.Fprintf(s.lab.log, "bench: %s left %d processes behind\n", s.name, len(left))
	}
	for _, p := range left {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
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

// hosts returns the pids of the server's session hosts: every process of it
// that is neither the daemon nor a claude.
func (s *server) hosts() []int {
	var pids []int
	for _, p := range s.others() {
		if isClaude := slices.Contains(p.args, "--input-format"); !isClaude {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// others returns the server's processes besides the daemon and its supervisor.
func (s *server) others() []process {
	return slices.DeleteFunc(marked(s.mark), func(p process) bool { return p.pid == s.cmd.Process.Pid || isWorker(p) })
}

// daemon returns the process id of the gateway: the worker of a supervisor, or the process
// that was started.
func (s *server) daemon() int {
	for _, p := range marked(s.mark) {
		if isWorker(p) {
			return p.pid
		}
	}
	return s.cmd.Process.Pid
}

func isWorker(p process) bool { return len(p.args) > 1 && p.args[1] == supervisor.Subcommand }

// freePort returns a loopback address that nobody listens on.
func freePort() (addr, port string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		return "", "", err
	}
	addr = ln.Addr().String()
	return addr, addr[strings.LastIndexByte(addr, ':')+1:], ln.Close()
}
