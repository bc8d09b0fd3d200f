package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/logfile"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// Serve is the gateway with its supervisor, which this process becomes. Serve returns the
// exit status when the gateway has ended. Process 1 of a container only starts the
// supervisor and collects the processes that sessions leave behind.
func Serve() (status int, err error) {
	if os.Getpid() == 1 && !supervisor.IsRenewed() {
		return proc.RunAsInit()
	}
	if err := errors.Join(leaveSession(), service.LoadEnv()); err != nil {
		return 0, err
	}
	if os.Getenv("LISTEN_PID") == "1" { // the sockets come from process 1
		_ = os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid())) // the name is valid
	}
	passed := activation.Files(true)
	environ := without(os.Environ(), supervisor.StateVariable) // before .env, which each worker reads anew
	cfg, err := config.Load()
	if err != nil && !supervisor.IsRenewed() { // one that goes on must not end
		return 0, err
	}
	log := supervisorLog{cfg: cfg, detached: logfile.IsLog(os.Stderr, usualLog(cfg))}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the reader of the log may go
	return supervisor.Run(supervisor.Options{
		StateDir: cfg.StateDir, Environ: environ, Passed: passed, Log: newLog(cfg, log), BeforeStart: log.follow,
		WorkerEnviron: without(environ, "NOTIFY_SOCKET", "WATCHDOG_PID"), // a service manager knows the supervisor alone
	}), nil
}

// leaveSession starts this program again if a process of a session has started it: the
// gateway must not end with the session. The mark of a session is in a process's first
// environment, which cannot change. The gateway of that session is not this one either.
func leaveSession() error {
	err := os.Unsetenv(client.SocketVariable)
	if os.Getenv(protocol.EnvMarkVariable) == "" {
		return err
	}
	self, selfErr := os.Executable()
	if err = errors.Join(err, selfErr, os.Unsetenv(protocol.EnvMarkVariable)); err == nil {
		err = syscall.Exec(self, os.Args, os.Environ())
	}
	return fmt.Errorf("leave the session that this was started from: %w", err)
}

func without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}

// A supervisorLog is where the supervisor's few lines go: where the worker's log goes. The
// log file is opened for each line.
type supervisorLog struct {
	cfg      config.Config
	detached bool // stderr is the log file
}

func (l supervisorLog) Write(line []byte) (int, error) {
	w, _, done, _ := openLogWriter(l.cfg) // after an error w is stderr
	defer done()
	return w.Write(line)
}

// follow has stderr, which workers inherit, go to the current log file if it goes to an
// earlier one.
func (l supervisorLog) follow() {
	if !l.detached {
		return
	}
	if f, err := logfile.OpenAppend(usualLog(l.cfg)); err == nil {
		_ = unix.Dup2(int(f.Fd()), int(os.Stderr.Fd())) // else output goes on to the earlier file
		_ = f.Close()
	}
}

func usualLog(cfg config.Config) string { return filepath.Join(cfg.StateDir, logfile.Name) }
