// Package daemon is the gateway process: the rooms and what ties them together.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/internal/buildinfo"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/handover"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/statemark"
	"bareclaw/sessionhost/protocol"
)

// hostsGrace is how long session hosts may take to end on a full shutdown.
const hostsGrace = 15 * time.Second

// endGrace is more than all of that takes.
const endGrace = 30 * time.Second

// EchoSubcommand is the hidden role that stands in for a missing claude.
const EchoSubcommand = "echo-agent"

// unmark starts this program anew if it was started from within a session: it is no
// part of it, and must not end with it. What a process bears it bears for its life.
// The gateway of that session is not its own either.
func unmark() error {
	err := os.Unsetenv(client.SocketVariable)
	if os.Getenv(protocol.EnvMarkVariable) == "" {
		return err
	}
	self, selfErr := os.Executable()
	err = errors.Join(err, selfErr)
	if err == nil {
		err = os.Unsetenv(protocol.EnvMarkVariable)
	}
	if err == nil {
		err = syscall.Exec(self, os.Args, os.Environ())
	}
	return fmt.Errorf("leave the session that this was started from: %w", err)
}

// Serve serves until a signal ends it, or a new process has taken over.
func Serve() error {
	if err := unmark(); err != nil {
		return err
	}
	predecessor, err := handover.Inherited()
	if err != nil {
		return err
	}
	kept, err := keptTether()
	if err != nil {
		return err
	}
	told, err := keptSignal()
	if err != nil {
		return err
	}
	lock, err := keptLock()
	if err != nil {
		return err
	}
	d := &daemon{predecessor: predecessor, tether: kept, told: told, keptLock: lock, startedAt: time.Now(), successors: make(chan *handover.Successor, 1)}
	d.life, d.leaving = context.WithCancel(context.Background())
	defer d.leaving()
	err = d.findPassed()
	d.environ = os.Environ() // as it is before .env, for a successor
	if err == nil {
		err = d.serve()
	}
	if err != nil {
		if predecessor != nil {
			predecessor.Fail(err) // it is in the way of nothing when it comes too late
		}
		return err
	}
	return nil
}

// A daemon is the gateway process: the rooms and what ties them together.
type daemon struct {
	cfg         config.Config
	log         *slog.Logger
	logged      lockfile.LogLocation // where the log is kept
	environ     []string             // of the process, without what .env adds
	predecessor *handover.Predecessor
	successors  chan *handover.Successor // one that could take over

	self      string // path of this binary
	startedAt time.Time
	ready     atomic.Bool
	onTrial   atomic.Bool     // this program was upgraded to, and may have to go again
	life      context.Context // ends when this process leaves
	leaving   context.CancelFunc

	passed   passedSockets
	lock     *lockfile.StateLock
	keptLock *os.File // from before it started anew; nil if it did not
	tether   tether
	told     syscall.Signal // what it was told before it started anew; 0 if nothing
	engine   engine
	http     httpPart
	push     core.PushRegistry
	watchdog *watchdog // nil where no service manager asks
	parts    partList

	place   func()     // lets others replace this program again; nil unless this process has put another one in its place
	verdict sync.Mutex // held while the record of an upgrade that is over is read, told and written

	mu      sync.Mutex          // protects the fields below
	attempt *attempt            // a restart under way
	heir    *handover.Successor // the process it has started
	ending  bool                // it comes too late
	problem string              // why the last one failed

	closers []func() // what open has opened, undone last first
}

func (d *daemon) apiSocket() string { return client.Socket(d.cfg) }

// serve runs the gateway.
func (d *daemon) serve() error {
	signals := make(chan os.Signal, 4)
	if d.told != 0 {
		signals <- d.told
	}
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	// Whoever read our log may go: that must not end us. (Ignored, it would be so
	// for all that claude starts.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	defer d.close()
	if err := d.prepare(); err != nil {
		return err
	}
	if d.predecessor != nil {
		if err := d.predecessor.Ready(); err != nil {
			return fmt.Errorf("take over: %w", err)
		}
	}
	if err := d.open(); err != nil {
		return err
	}
	_, _ = sd.SdNotify(false, sd.SdNotifyReady) // does nothing where there is no systemd
	if d.predecessor != nil {
		if err := d.serveHeld(); err != nil {
			return err
		}
	} else if err := d.describe(false); err != nil {
		return err
	} else {
		d.sweepHeld()
	}
	if os.Getpid() == 1 {
		go d.reapOrphans() // ends with this process
	}
	d.ready.Store(true) // not before: whoever hears it finds this process by the lock file
	d.startWatchdog()
	d.tether.watch(managed())
	go d.afterTrial(d.life) // ends with it
	d.log.Info("ready", "address", "http://"+d.http.tcp.Addr().String(), "socket", d.apiSocket(), "agent", d.engine.agent.kind,
		"pid", os.Getpid(), "took", time.Since(d.startedAt))
	d.keepHeartbeat()
	for {
		select {
		case err := <-d.http.failed:
			if err != nil {
				return err
			}
		case s := <-d.successors:
			return d.succeed(s, signals)
		case <-d.tether.cut:
			d.log.Warn("the process that whoever started the gateway knows of has ended: so does this one")
			return d.end(syscall.SIGTERM)
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				go func() { _ = d.requestRestart(context.Background()) }() // it logs why it fails
				continue
			}
			go exitOnSecond(signals)
			return d.end(sig)
		}
	}
}

// reapOrphans collects what the sessions' processes leave behind where this is the first
// process, as in a container. After a hand-over the keeper does.
func (d *daemon) reapOrphans() {
	if err := proc.ReapOrphans(context.Background()); err != nil {
		d.log.Warn("processes whose parent has ended stay as zombies; start the container with an init (--init)", "err", err)
	}
}

// end ends the gateway as it was told to, and notes that for a keeper.
func (d *daemon) end(sig os.Signal) error {
	told := time.Now()
	d.log.Info("told to end", "signal", sig.String())
	d.leaveTrial()
	why := leaving
	if sig == syscall.SIGINT {
		why = endingSessions
		if err := statemark.MarkStopped(d.cfg.StateDir); err != nil { // as Ctrl-C is a person's
			d.log.Error("the heartbeat may start the gateway again", "err", err)
		}
	}
	if err := d.leave(why); err != nil {
		return err
	}
	if why == leaving {
		d.engine.saveFeeds().write()
	}
	d.log.Info("ended", "took", time.Since(told))
	return d.describe(true)
}

// exitOnSecond ends the process without waiting when it is told to end again.
func exitOnSecond(signals <-chan os.Signal) {
	for sig := range signals {
		if sig != syscall.SIGHUP {
			os.Exit(exitcode.Failed)
		}
	}
}

// prepare does what can be done while a predecessor works: it reads the
// configuration, takes the state directory, and listens.
func (d *daemon) prepare() (err error) {
	if d.cfg, err = config.Load(); err != nil {
		return err
	}
	if d.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program's file: %w", err)
	}
	if err := d.takeState(); err != nil {
		return err
	}
	d.closers = append(d.closers, d.lock.Release)
	if d.predecessor == nil && d.keptLock == nil { // one that takes over was started by nobody
		if err := statemark.ClearStopped(d.cfg.StateDir); err != nil {
			return err
		}
	}
	if err := statemark.CheckRestored(d.cfg.StateDir); err != nil {
		return err
	}
	d.openLog() // not before: another gateway may have the state directory
	for _, w := range d.cfg.Warnings() {
		d.log.Warn("configuration", "problem", w)
	}
	if err := d.takeTrial(); err != nil {
		return err
	}
	if d.predecessor != nil {
		d.tether.end = d.predecessor.File(tetherFile)
	}
	return d.listen()
}

// takeState locks the state directory, or takes over the predecessor's lock, or its own. It
// refuses to take over into another directory: what waits in the predecessor's would be
// lost, with its sessions.
func (d *daemon) takeState() (err error) {
	f := d.keptLock
	if d.predecessor != nil {
		f = d.predecessor.File(lockFile)
	}
	if f != nil {
		if d.lock = lockfile.InheritedState(f, d.cfg.StateDir); d.lock != nil {
			return nil
		}
		old := filepath.Dir(openPath(f))
		_ = f.Close()
		if d.predecessor != nil {
			return movedError("state", "BARECLAW_STATE_DIR", old, d.cfg.StateDir)
		}
	}
	d.lock, err = lockfile.AcquireState(d.cfg.StateDir)
	return err
}

// open makes the parts and starts them.
func (d *daemon) open() error {
	d.engine.cfg, d.engine.log, d.engine.self, d.engine.life = d.cfg, d.log, d.self, d.life
	d.engine.launch = launchOf(d.cfg, d.prompt())
	d.engine.deliverers = telegramDeliverers(d.cfg.TelegramToken.IsSet())
	chats := &telegramPart{engine: &d.engine, push: &d.push, restart: d.requestRestart}
	jobs := &loop{}
	d.http.log, d.http.failed = d.log, make(chan error, 2)
	d.http.options = func() httpapi.Options {
		scheduler := newScheduler(&d.engine, chats, &d.push)
		jobs.run = scheduler.Run
		return httpapi.Options{
			Core: d.engine.manager, Push: &d.push, Schedules: scheduler, Log: d.log,
			Health: d.health, Restart: d.requestRestart, Upgrade: d.requestUpgrade, LastUpgrade: d.lastUpgrade, Peer: samePeer,
			Token: d.cfg.HTTPToken.Reveal(), Host: d.cfg.Host, AllowedHosts: d.cfg.AllowedHosts, BodyLimit: d.cfg.BodyLimit,
			Metrics: func(w *metrics.Writer) {
				health, enabled := chats.metrics()
				writeTelegramMetrics(w, health, enabled)
			},
		}
	}
	d.parts = partList{&d.engine, chats, step(d.engine.recover), &d.http, &loop{run: chats.poll}, jobs}
	d.closers = append(d.closers, d.engine.closeRecords)
	return d.parts.start()
}

// describe writes into the lock file that this is the daemon, or was.
func (d *daemon) describe(ended bool) error {
	start, err := proc.StartTime(os.Getpid())
	if err != nil {
		return err
	}
	return d.lock.Describe(lockfile.Holder{PID: os.Getpid(), Start: start, Address: d.http.tcp.Addr().String(), StartedAt: d.startedAt, Log: d.logged, Ended: ended})
}

func (d *daemon) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}

// leave stops the parts.
func (d *daemon) leave(why stopReason) error {
	d.disinherit()
	d.leaving()
	d.watchdog.excuse(endGrace)
	if !d.onTrial.Load() { // then another process is the main one yet, and goes on
		_, _ = sd.SdNotify(false, sd.SdNotifyStopping)
	}
	return d.parts.stop(why)
}

func (d *daemon) health() httpapi.Health {
	e := &d.engine
	h := httpapi.Health{
		PID: os.Getpid(), Version: buildinfo.Version(), Agent: e.agent.health(), Generation: uint64(e.generation),
		Ready: d.ready.Load(), StartedAt: d.startedAt, Parts: map[string]any{},
	}
	h.Spares.Ready, h.Spares.Wanted = e.hosts.Spares()
	if err := e.ledger.Problem(); err != nil {
		h.LedgerProblem = err.Error()
		h.Problems = append(h.Problems, "Messages are refused and outcomes wait to be written: "+err.Error())
	}
	for _, p := range d.parts.health() {
		if p.Problem != "" {
			h.Problems = append(h.Problems, p.Problem)
		}
		if p.Facts != nil {
			h.Parts[p.Name] = p.Facts
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.problem != "" {
		h.Problems = append(h.Problems, d.problem)
	}
	return h
}
