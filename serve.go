package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"bareclaw/adapters/httpapi"
	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/core/ledger"
	"bareclaw/core/sessionfile"
	"bareclaw/internal/peercred"
)

// httpGrace is how long held requests may take to be answered at the end.
const httpGrace = 1500 * time.Millisecond

// hostsGrace is how long session hosts may take to end on a full shutdown.
const hostsGrace = 15 * time.Second

type serveCmd struct{}

// Run serves until a signal or a restart ends it.
func (serveCmd) Run() error {
	environ := os.Environ() // as it was before .env, for a successor
	cfg, err := config.Load()
	if err != nil {
		return err
	}
	d := &daemon{cfg: cfg, log: newLog(cfg, os.Stderr), startedAt: time.Now(), restart: make(chan struct{})}
	for _, w := range cfg.Warnings() {
		d.log.Warn("configuration", "problem", w)
	}
	if cfg.TelegramToken.IsSet() {
		d.log.Warn("configuration", "problem", "BARECLAW_TELEGRAM_TOKEN is set, but this version has no Telegram adapter yet")
	}
	again, err := d.serve()
	if err != nil || !again {
		return err
	}
	d.log.Info("restarting", "path", d.self)
	if cfg.Port == 0 { // whoever knows the address goes on using it
		environ = slices.DeleteFunc(environ, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_PORT=") })
		environ = append(environ, "BARECLAW_PORT="+d.port())
	}
	if err := syscall.Exec(d.self, append([]string{d.self}, os.Args[1:]...), environ); err != nil {
		return fmt.Errorf("restart %s: %w", d.self, err)
	}
	return nil
}

func newLog(cfg config.Config, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// A daemon is the gateway process: the rooms and what ties them together.
type daemon struct {
	cfg        config.Config
	log        *slog.Logger
	self       string // path of this binary
	agent      agent
	generation int64
	startedAt  time.Time
	ready      atomic.Bool

	lock     *stateLock
	ledger   *ledger.Ledger
	sessions *sessionfile.File
	manager  *core.ProcessManager
	http     *httpapi.Server
	tcp      net.Listener
	unix     net.Listener

	once    sync.Once
	restart chan struct{} // closed to restart

	closers []func() // what open has opened, undone last first
}

func (d *daemon) port() string {
	_, port, _ := net.SplitHostPort(d.tcp.Addr().String()) // a TCP address has one
	return port
}

func (d *daemon) apiSocket() string { return filepath.Join(d.cfg.RuntimeDir, "api.sock") }

// serve runs the gateway and reports whether it is to be started again.
func (d *daemon) serve() (again bool, err error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	defer d.close()
	if err := d.open(); err != nil {
		return false, err
	}
	failed := make(chan error, 2)
	go func() { failed <- d.http.Serve(d.tcp) }()       // ends by Shutdown
	go func() { failed <- d.http.ServeLocal(d.unix) }() // likewise
	d.ready.Store(true)
	_, _ = sd.SdNotify(false, sd.SdNotifyReady) // does nothing where there is no systemd
	d.log.Info("ready", "address", "http://"+d.tcp.Addr().String(), "socket", d.apiSocket(), "agent", d.agent.kind,
		"pid", os.Getpid(), "took", time.Since(d.startedAt))
	for {
		select {
		case err := <-failed:
			if err != nil {
				return false, err
			}
		case <-d.restart:
			d.leave(httpapi.Restarting)
			return true, nil
		case sig := <-signals:
			switch sig {
			case syscall.SIGHUP:
				if err := d.requestRestart(); err != nil {
					d.log.Error("not restarted", "err", err)
				}
			case syscall.SIGINT:
				go exitOnSecond(signals)
				return false, d.shutdown()
			default:
				go exitOnSecond(signals)
				d.leave(httpapi.ShuttingDown)
				return false, nil
			}
		}
	}
}

// exitOnSecond ends the process without waiting when it is told to end again.
func exitOnSecond(signals <-chan os.Signal) {
	for sig := range signals {
		if sig != syscall.SIGHUP {
			os.Exit(exitFailure)
		}
	}
}

// open takes the state directory, opens the ledger, listens, and takes up what
// an earlier process left.
func (d *daemon) open() (err error) {
	if d.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program's file: %w", err)
	}
	if d.lock, err = lockState(d.cfg.StateDir); err != nil {
		return err
	}
	d.closers = append(d.closers, d.lock.release)
	if err := d.listen(); err != nil {
		return err
	}
	if err := d.openRecords(); err != nil {
		return err
	}
	d.agent = chooseAgent(d.cfg, d.self)
	if d.agent.problem != "" {
		d.log.Warn("agent", "problem", d.agent.problem)
	}
	hosts, err := newHosts(d)
	if err != nil {
		return err
	}
	d.manager = core.New(core.Options{
		Ledger: d.ledger, Agent: hosts, Sessions: d.sessions, Log: d.log,
		QueueLimit: d.cfg.QueueLimit, TurnTimeout: d.cfg.Timeout,
		Approvals: core.ApprovalPolicy(d.cfg.Approvals), ApprovalTimeout: d.cfg.ApprovalTimeout,
		Greeting: d.agent.greeting(),
	})
	d.http = httpapi.New(httpapi.Options{
		Core: d.manager, Push: &core.PushRegistry{}, Log: d.log,
		Health: d.health, Restart: d.requestRestart, Peer: samePeer,
		Token: d.cfg.HTTPToken.Reveal(), Host: d.cfg.Host, AllowedHosts: d.cfg.AllowedHosts, BodyLimit: d.cfg.BodyLimit,
	})
	if err := d.manager.Recover(context.Background()); err != nil {
		return fmt.Errorf("take up what was left: %w", err)
	}
	return d.lock.describe(holder{PID: os.Getpid(), Address: d.tcp.Addr().String(), StartedAt: d.startedAt})
}

// openRecords opens the ledger and the session ids.
func (d *daemon) openRecords() (err error) {
	if d.ledger, err = ledger.Open(filepath.Join(d.cfg.StateDir, "ledger.db"), d.log); err != nil {
		return err
	}
	d.closers = append(d.closers, func() {
		if err := d.ledger.Close(); err != nil {
			d.log.Error("ledger not closed cleanly", "err", err)
		}
	})
	if d.generation, err = d.ledger.NextGeneration(context.Background()); err != nil {
		return err
	}
	if d.sessions, err = sessionfile.Open(d.cfg.SessionFile, d.log); err != nil {
		return err
	}
	d.closers = append(d.closers, func() { _ = d.sessions.Close() })
	return nil
}

// listen opens the two addresses of the API. The state lock is held, so a
// socket that is there already is stale.
func (d *daemon) listen() (err error) {
	address := net.JoinHostPort(d.cfg.Host, strconv.Itoa(d.cfg.Port))
	if d.tcp, err = net.Listen("tcp", address); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("port %d is in use by another program; stop it, or set BARECLAW_PORT: %w", d.cfg.Port, err)
		}
		return fmt.Errorf("listen for HTTP (BARECLAW_HOST, BARECLAW_PORT): %w", err)
	}
	d.closers = append(d.closers, func() { _ = d.tcp.Close() })
	if err := os.MkdirAll(d.cfg.RuntimeDir, 0o700); err != nil {
		return fmt.Errorf("make the runtime directory: %w", err)
	}
	if err := os.Chmod(d.cfg.RuntimeDir, 0o700); err != nil {
		return fmt.Errorf("close the runtime directory to others: %w", err)
	}
	if err := os.Remove(d.apiSocket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the old API socket: %w", err)
	}
	if d.unix, err = net.Listen("unix", d.apiSocket()); err != nil {
		return fmt.Errorf("listen on the API socket (BARECLAW_RUNTIME_DIR): %w", err)
	}
	d.closers = append(d.closers, func() { _ = d.unix.Close() })
	return nil
}

func (d *daemon) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}

// samePeer reports whether a connection comes from this user's own programs.
func samePeer(c net.Conn) (ok, known bool) {
	if u, isUnix := c.(*net.UnixConn); isUnix {
		uid, _, err := peercred.UnixUID(u)
		return err == nil && int(uid) == os.Getuid(), true
	}
	uid, known, err := peercred.TCPUID(c.LocalAddr(), c.RemoteAddr())
	if err != nil {
		return false, true
	}
	return int(uid) == os.Getuid(), known
}

// requestRestart begins a restart, if this program's file can be run.
func (d *daemon) requestRestart() error {
	st, err := os.Stat(d.self)
	if err != nil {
		return fmt.Errorf("the program's file is gone: %w", err)
	}
	if st.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not executable", d.self)
	}
	d.once.Do(func() { close(d.restart) })
	return nil
}

// leave stops serving and leaves the session hosts at work.
func (d *daemon) leave(why httpapi.Reason) {
	d.log.Info("leaving", "reason", string(why))
	_, _ = sd.SdNotify(false, sd.SdNotifyStopping)
	ctx, cancel := context.WithTimeout(context.Background(), httpGrace)
	defer cancel()
	if err := d.http.Shutdown(ctx, why); err != nil {
		d.log.Warn("requests cut", "err", err)
	}
	d.manager.Detach()
}

// shutdown stops serving and ends the session hosts too.
func (d *daemon) shutdown() error {
	d.log.Info("shutting down, session hosts end too")
	d.leave(httpapi.ShuttingDown)
	ctx, cancel := context.WithTimeout(context.Background(), hostsGrace)
	defer cancel()
	if err := d.manager.Shutdown(ctx); err != nil {
		return fmt.Errorf("end session hosts: %w", err)
	}
	return nil
}

func (d *daemon) health() httpapi.Health {
	h := httpapi.Health{
		PID: os.Getpid(), Version: version(), Agent: d.agent.health(), Generation: uint64(d.generation),
		Ready: d.ready.Load(), StartedAt: d.startedAt,
	}
	if p := d.sessions.Problem(); p != "" {
		h.Problems = append(h.Problems, p)
	}
	return h
}
