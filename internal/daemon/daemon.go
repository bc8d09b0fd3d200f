// Package daemon is the gateway process, which starts, connects and stops the gateway's parts.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/buildinfo"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/memory"
	"bareclaw/internal/peercred"
	"bareclaw/internal/proc"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
	"bareclaw/sessionhost/claude"
)

// hostsGrace is how long session hosts may take to end on a full shutdown.
const hostsGrace = 15 * time.Second

// endGrace is longer than a full shutdown takes.
const endGrace = 30 * time.Second

// EchoSubcommand is the hidden role that stands in for a missing claude.
const EchoSubcommand = "echo-agent"

// heapRoom is the growth of the daemon's heap between two garbage collections, in bytes.
const heapRoom = 10 << 20

// Work is the gateway below its supervisor. Work serves until a signal ends the gateway,
// another worker has taken over, or the supervisor has ended.
func Work() error {
	memory.Pace(heapRoom)
	if err := proc.Conceal(); err != nil {
		return err
	}
	proc.CloseInherited(1) // which is the control socket; a supervisor of an older program has closed nothing
	parent, err := supervisor.Inherit()
	if err != nil {
		return err
	}
	d := newDaemon(parent)
	defer d.leaving()
	d.supervisor.Start, err = proc.StartTime(d.supervisor.PID)
	if err == nil {
		err = d.sockets.findPassed()
	}
	if err == nil {
		err = d.serve()
	}
	if err != nil {
		parent.Failed(err, wantsRoom(err))
	}
	return err
}

// newDaemon makes a daemon that has not read its configuration yet.
func newDaemon(parent *supervisor.Parent) *daemon {
	life, leave := context.WithCancel(context.Background())
	b := &base{
		parent:  parent,
		environ: os.Environ(), // as it is before .env
		life:    life,
	}
	e := &engine{base: b}
	return &daemon{
		base:       b,
		supervisor: proc.Process{PID: os.Getppid()},
		startedAt:  time.Now(),
		served:     make(chan struct{}),
		leaving:    leave,
		sockets:    &sockets{base: b},
		engine:     e,
		http:       &httpPart{base: b, failed: make(chan error, 3)},
		restarts:   &restarts{base: b, engine: e, prepared: make(chan struct{}, 1)},
	}
}

// wantsRoom reports whether an error may go away by itself: the disk is full, or too many files are
// open.
func wantsRoom(err error) bool {
	wants := func(one error) bool { return errors.Is(err, one) }
	return slices.ContainsFunc([]error{core.ErrStorageFull, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE}, wants)
}

// A base is what the parts of the daemon share.
type base struct {
	cfg     config.Config
	log     *slog.Logger
	self    string   // path of this program, which session hosts are started from
	environ []string // of the process, without what .env adds
	parent  *supervisor.Parent
	push    core.PushRegistry
	life    context.Context // ends when this process leaves
}

// A daemon is one gateway process, the worker of a supervisor.
type daemon struct {
	*base
	logged      lockfile.LogLocation // where the log is kept
	terminal    *greeter             // of a person who has started the gateway; nil if nobody sees it
	supervisor  proc.Process         // its process
	predecessor proc.Process         // the worker that this one takes over from; zero: none
	startedAt   time.Time
	ready       atomic.Bool
	served      chan struct{}      // closed when ready is set
	leaving     context.CancelFunc // ends life

	lock     *lockfile.StateLock
	sockets  *sockets
	engine   *engine
	http     *httpPart
	parts    partList
	unwatch  func() // ends the watchdog
	restarts *restarts
	closers  []func() // release what this process has opened, called last first
}

func (d *daemon) serve() error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	// The gateway must survive the end of its log's reader. SIGPIPE is caught, not ignored:
	// programs started by claude would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	defer d.close()
	if err := d.prepare(); err != nil {
		return err
	}
	if err := d.parent.Ready(); err != nil {
		return fmt.Errorf("take over: %w", err)
	}
	if err := d.open(); err != nil {
		return err
	}
	if err := d.sockets.deposit(d.lock); err != nil {
		return err
	}
	d.ready.Store(true)
	close(d.served)
	d.parent.Serving(d.serveHeld(), d.restarts.onTrial.Load())
	d.unwatch = d.watch()
	go d.restarts.afterTrial(d.life) // ends with d.life
	if d.terminal != nil {
		d.terminal.greet(greeting(d.sockets.tcp.Addr().String(), d.cfg, d.engine.agent.problem))
	}
	d.log.Info("ready", "address", "http://"+d.sockets.tcp.Addr().String(), "socket", d.sockets.apiSocket(), "agent", d.engine.agent.kind,
		"pid", os.Getpid(), "took", time.Since(d.startedAt))
	go d.keepHeartbeat(d.engine.agent.kind == config.AgentEcho) // ends with d.life
	for {
		select {
		case err := <-d.http.failed:
			if err != nil {
				return err
			}
		case <-d.restarts.prepared:
			return d.handOver(signals)
		case <-d.parent.Gone():
			d.log.Warn("the supervisor has ended: so does the gateway")
			return d.end(syscall.SIGTERM)
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				go func() { _ = d.restarts.request(context.Background()) }() // it logs why it fails
				continue
			}
			return d.end(sig)
		}
	}
}

func (d *daemon) end(sig os.Signal) error {
	told := time.Now()
	d.parent.Stopping()
	d.sockets.unlinkSocket(true)
	d.log.Info("told to end", "signal", sig.String())
	d.restarts.leaveTrial()
	why := leaving
	if sig == syscall.SIGINT {
		why = endingSessions
		if err := statemark.MarkStopped(d.cfg.StateDir()); err != nil { // as Ctrl-C is a person's
			d.log.Error("the heartbeat may start the gateway again", "err", err)
		}
	}
	d.restarts.ending.Store(true)
	d.leaving()
	d.parent.Notify(sd.SdNotifyStopping)
	if err := d.parts.stop(why); err != nil {
		return err
	}
	if why == leaving {
		d.engine.saveFeeds()()
	}
	d.log.Info("ended", "took", time.Since(told))
	return d.describe(true)
}

// prepare does all that can be done while another worker serves: prepare reads the
// configuration, takes the state directory, and listens.
func (d *daemon) prepare() (err error) {
	if d.cfg, err = loadConfig(); err != nil {
		return err
	}
	if d.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program's file: %w", err)
	}
	if err := d.takeState(); err != nil {
		return err
	}
	d.closers = append(d.closers, d.lock.Release)
	if d.parent.IsHeir() {
		// If it cannot be read, the requests that are held are answered as if the gateway ended.
		h, _ := lockfile.ReadHolder(filepath.Join(d.cfg.StateDir(), lockfile.StateLockName))
		d.predecessor = proc.Process{PID: h.Worker, Start: h.WorkerStart}
	}
	if d.parent.First() {
		if err := statemark.ClearStopped(d.cfg.StateDir()); err != nil {
			return err
		}
	}
	if err := statemark.CheckRestored(d.cfg.StateDir()); err != nil {
		return err
	}
	d.openLog() // not before: another gateway may have the state directory
	for _, w := range d.cfg.Warnings() {
		d.log.Warn("configuration", "problem", w)
	}
	d.restarts.takeTrial()
	d.closers = append(d.closers, d.sockets.close)
	return d.sockets.listen()
}

// openLog opens the log of this worker. The gateway serves even without a writable log file.
func (d *daemon) openLog() {
	terminal := io.Writer(os.Stderr)
	if d.parent.First() && term.IsTerminal(os.Stderr) {
		d.terminal = &greeter{out: os.Stderr}
		terminal = d.terminal
		d.closers = append(d.closers, func() { d.terminal.greet("") }) // of a gateway that does not serve
	}
	w, where, done, err := openLogWriter(d.cfg, terminal)
	d.closers = append(d.closers, done)
	d.log, d.logged = newLog(d.cfg, w), where
	if err != nil {
		d.log.Error("the log is not kept in a file", "err", err)
	}
}

// takeState locks the state directory, or takes the supervisor's lock. A lock on another
// directory is an error: the messages and sessions there would be abandoned.
func (d *daemon) takeState() (err error) {
	f := d.parent.File(lockFile)
	if f == nil {
		d.lock, err = lockfile.AcquireState(d.cfg.StateDir())
		return err
	}
	if d.lock = lockfile.InheritedState(f, d.cfg.StateDir()); d.lock != nil {
		return nil
	}
	old := filepath.Dir(openPath(f))
	_ = f.Close()
	return movedError("state", "BARECLAW_STATE_DIR", old, d.cfg.StateDir())
}

// open makes the parts, of which each begins its work at once. Each needs those before it:
//
//	engine     records, session hosts and lanes, which start no session before recovery
//	adapters   bring messages to the lanes, and are given the deliveries that recovery makes
//	schedules  ask the adapter of a channel who may be sent to
//	tools      the gateway's own act on all of these
//	recovery   sessions begin with the tools
//	http       what was recovered can be asked for
//	loops      begin when clients can reach the gateway
func (d *daemon) open() error {
	d.closers = append(d.closers, d.engine.closeRecords)
	if err := d.engine.start(); err != nil {
		return err
	}
	d.parts = partList{d.engine.part()}
	table, err := newCommands(d.engine, d.startedAt)
	if err != nil {
		return err
	}
	people, err := d.newAdapters(table)
	if err != nil {
		return err
	}
	for _, a := range people {
		d.parts = append(d.parts, a.part())
	}
	scheduler := newScheduler(d.engine, people)
	watched := newObservers(d.base)
	hands, err := newTools(d.engine, scheduler, table, watched, d.restarts.requestBy)
	if err != nil {
		return err
	}
	d.parts = append(d.parts, hands.part(), watched.part())
	if err := table.NewList().Replace(d.parts.commands()...); err != nil {
		return err
	}
	if err := d.engine.recover(hands.server); err != nil {
		return err
	}
	if err := d.describe(false); err != nil { // a client with an answer finds this process in the lock file
		return err
	}
	known := d.parts // what follows has nothing to tell
	d.http.start(httpapi.Options{
		Core:          httpCore(d.engine.manager),
		Commands:      table,
		Push:          &d.push,
		Mounts:        known.mounts(),
		Servers:       mountedServers{hands.mounts},
		Schedules:     scheduler,
		Log:           d.log,
		Peer:          peercred.MayBeSameUser,
		Metrics:       known.metrics(),
		Settings:      client.Settings(d.cfg),
		Health:        func() api.Health { return d.health(known) },
		Restart:       d.restarts.request,
		RestartBuilds: d.restartBuilds(),
		Upgrade:       d.restarts.requestUpgrade,
		LastUpgrade:   d.restarts.lastUpgrade,
		Inert:         claude.Inert,
		FileMentions:  d.cfg.Claude.FileMentions == config.FileMentionsOn,
		Token:         d.cfg.HTTP.Token.Reveal(),
		Host:          string(d.cfg.HTTP.Host),
		AllowedHosts:  d.cfg.HTTP.AllowedHosts,
		BodyLimit:     int64(d.cfg.HTTP.BodyLimit),
	}, d.sockets)
	d.parts = append(d.parts, d.http.part(),
		loop(d.life, "tool lists", hands.follow),
		loop(d.life, "prompts", hands.server.FollowPrompts),
		loop(d.life, "tool host", func(ctx context.Context) { hands.run(ctx, d.served) }),
		loop(d.life, "mounted servers", func(ctx context.Context) { hands.runMounts(ctx, d.served) }),
		loop(d.life, "scheduler", scheduler.Run),
	)
	for _, a := range people {
		d.parts = append(d.parts, loop(d.life, a.kind.Name+" loop", a.serve))
	}
	return nil
}

// describe writes into the lock file that the gateway is this worker and its supervisor,
// or that the gateway has ended.
func (d *daemon) describe(ended bool) error {
	self, err := proc.StartTime(os.Getpid())
	if err != nil {
		return err
	}
	return d.lock.Describe(lockfile.Holder{
		PID:         d.supervisor.PID,
		Start:       d.supervisor.Start,
		Worker:      os.Getpid(),
		WorkerStart: self,
		Address:     d.sockets.tcp.Addr().String(),
		StartedAt:   d.startedAt,
		Log:         d.logged,
		Ended:       ended,
	})
}

func (d *daemon) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}

func (d *daemon) health(parts partList) api.Health {
	h := api.Health{
		PID:       os.Getpid(),
		Version:   buildinfo.Version(),
		Ready:     d.ready.Load(),
		StartedAt: d.startedAt,
		Parts:     []api.Part{},
	}
	parts.health(&h)
	h.FailedRestart = d.restarts.lastFailure()
	return h
}
