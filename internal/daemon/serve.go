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

// Serve runs the gateway: this process becomes the supervisor. Serve returns the exit
// status when the gateway has ended. Process 1 of a container only starts the
// supervisor and collects the processes that sessions leave behind.
func Serve() (status int, err error) {
	if err := proc.Conceal(); err != nil {
		return 0, err
	}
	if os.Getpid() == 1 && !supervisor.IsRenewed() {
		proc.CloseInherited(passedToInit())
		return proc.RunAsInit()
	}
	if err := errors.Join(leaveSession(), service.LoadEnv()); err != nil {
		return 0, err
	}
	if os.Getenv("LISTEN_PID") == "1" { // the sockets come from process 1
		_ = os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid())) // the name is valid
	}
	passed := activation.Files(true) // which marks them as this program's own
	if !supervisor.IsRenewed() {     // else what is open is what the supervisor keeps
		proc.CloseInherited(0)
	}
	environ := without(os.Environ(), supervisor.StateVariable) // before .env, which each worker reads anew
	cfg, err := loadConfig()
	if err != nil && !supervisor.IsRenewed() { // a renewed supervisor must not end
		return 0, err
	}
	log := supervisorLog{cfg: cfg, detached: logfile.IsLog(os.Stderr, usualLog(cfg))}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the reader of the log may go
	return supervisor.Run(supervisor.Options{
		StateDir:      cfg.StateDir(),
		Environ:       environ,
		Passed:        passed,
		Log:           newLog(cfg, log),
		BeforeStart:   log.follow,
		WorkerEnviron: without(environ, "NOTIFY_SOCKET", "WATCHDOG_PID"), // a service manager knows the supervisor alone
	}), nil
}

// loadConfig returns the configuration, and notes that the .env of the working directory counts:
// commands that are called here talk to this gateway.
func loadConfig() (config.Config, error) {
	cfg, err := config.Load(config.AsGateway)
	if noted := config.Remember(); noted != nil && err == nil {
		cfg.Unknown = append(cfg.Unknown, noted.Error()) // without the record the gateway works all the same
	}
	return cfg, err
}

// passedToInit returns the number of sockets that a service manager has passed to process 1.
func passedToInit() int {
	if os.Getenv("LISTEN_PID") != "1" {
		return 0
	}
	n, _ := strconv.Atoi(os.Getenv("LISTEN_FDS")) // the supervisor ignores a number that is none
	return max(n, 0)
}

// leaveSession executes this program anew if a process of a session started this process: the
// gateway must not end with the session. Only an exec removes the session's mark from the
// initial environment. The socket in the environment is that of the session's gateway.
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

// A supervisorLog writes the supervisor's few lines to the worker's log. The log file is
// opened for each line.
type supervisorLog struct {
	cfg      config.Config
	detached bool // stderr is the log file
}

func (l supervisorLog) Write(line []byte) (int, error) {
	w, _, done, _ := openLogWriter(l.cfg, os.Stderr) // after an error w is stderr
	defer done()
	return w.Write(line)
}

// follow redirects stderr, which workers inherit, to the current log file after a rotation
// of the log.
func (l supervisorLog) follow() {
	if !l.detached {
		return
	}
	if f, err := logfile.OpenAppend(usualLog(l.cfg)); err == nil {
		_ = unix.Dup2(int(f.Fd()), int(os.Stderr.Fd())) // else output goes on to the earlier file
		_ = f.Close()
	}
}

func usualLog(cfg config.Config) string { return filepath.Join(cfg.StateDir(), logfile.Name) }
