// Package toolhost is the daemon's end of the tool host: it starts the process and keeps it
// running, offers its tools, keeps snapshots of the tools directory, and carries out what
// scripts may use. The process itself is the package runner.
package toolhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/wait"
	"bareclaw/toolhost/api"
)

const (
	// startTimeout is how long a tool host may take until it answers, and how long calls wait
	// for one.
	startTimeout = 10 * time.Second
	// loadTimeout is how long a tool host that answers may take to load all files.
	loadTimeout = time.Minute
	// healthPause is the time between two questions whether the tool host answers.
	healthPause = time.Second
	// healthTimeout is how long the tool host may take to answer.
	healthTimeout = 500 * time.Millisecond
	// maxUnanswered is how often in a row the tool host may not answer before it is killed.
	maxUnanswered = 3
	// maxRestarts is how often the tool host is restarted after a crash before its tools are
	// rolled back.
	maxRestarts = 5
	// wellAfter is how long the tool host must run until its crashes are forgotten.
	wellAfter = 10 * time.Minute
	// maxPause is the longest time between two starts of a tool host that does not start.
	maxPause = 30 * time.Second
)

// Options are the parameters of a Keeper.
type Options struct {
	Self          string // path of this program
	ToolsDir      string
	RuntimeDir    string
	KeepSnapshots int
	Grants        Grants
	Registry      *tools.Registry // gets the tools of the tool host
	Log           *slog.Logger
}

// A Keeper keeps the tool host running. All methods are safe for concurrent use.
type Keeper struct {
	o         Options
	functions *functions
	snapshots *snapshots
	requests  chan *request
	settled   chan struct{} // closed when the tools are known, or the first start has failed
	settle    sync.Once
	ended     chan struct{} // closed when Run has ended

	changing sync.Mutex // held while files of the tools directory or snapshots change
	listing  sync.Mutex // held while the registry gets a list of tools

	mu         sync.Mutex // guards the fields below, and the health of the child
	child      *child     // the running one; nil: none
	present    chan struct{}
	offered    map[string]api.Tool // the tools, by name
	restarts   int                 // crashes since the last rollback
	crashes    int64               // since the start of the daemon
	problem    string              // why no tool host runs
	rolledBack string              // what became of the last rollback after crashes; empty if people know
}

// A request has the tool host replaced.
type request struct {
	between func() error // is called while no tool host runs; nil: nothing
	done    chan error   // receives the outcome; capacity 1
}

// New returns a Keeper. Run starts the tool host.
func New(o Options) *Keeper {
	return &Keeper{
		o: o, functions: newFunctions(o.Grants), snapshots: newSnapshots(o.ToolsDir, o.KeepSnapshots),
		requests: make(chan *request), settled: make(chan struct{}), ended: make(chan struct{}),
		present: make(chan struct{}), offered: map[string]api.Tool{},
	}
}

// Settled returns a channel that is closed when the tools are known, or the first tool host
// could not be started.
func (k *Keeper) Settled() <-chan struct{} { return k.settled }

// Run keeps a tool host running until ctx ends, and then ends it. Run must be called once.
func (k *Keeper) Run(ctx context.Context) {
	defer close(k.ended)
	defer k.settle.Do(func() { close(k.settled) })
	sockets, err := k.listen()
	if err != nil {
		k.fail(err)
		k.o.Log.Error("no tool host: only the gateway's own tools work", "err", err)
		return
	}
	defer sockets.close()
	var waiting *request // for the next tool host
	for failures := 0; ctx.Err() == nil; {
		c, err := k.start(ctx, sockets)
		if waiting != nil {
			waiting.done <- err
			waiting = nil
		}
		var end ending
		if err == nil {
			began := time.Now()
			end = k.watch(ctx, c)
			k.setChild(nil)
			c.stop()
			if time.Since(began) > maxPause {
				failures = 0
			}
		} else if ctx.Err() == nil {
			k.fail(err)
			k.o.Log.Error("the tool host does not start", "err", err)
			end.crashed = true
			k.settle.Do(func() { close(k.settled) })
		}
		switch {
		case ctx.Err() != nil:
		case end.request != nil:
			waiting = end.request.begin()
		case end.crashed:
			k.afterCrash()
			if r := k.pause(ctx, pauseAfter(failures)); r != nil {
				waiting = r.begin()
			}
			failures++
		}
	}
}

// begin does what is to be done while no tool host runs. It returns the request, or nil if that
// has failed.
func (r *request) begin() *request {
	if r.between == nil {
		return r
	}
	if err := r.between(); err != nil {
		r.done <- err
		return nil
	}
	return r
}

// pause waits before the next start. A request ends the pause: people may know how to mend the
// tools.
func (k *Keeper) pause(ctx context.Context, d time.Duration) *request {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case r := <-k.requests:
		return r
	case <-over.C:
	case <-ctx.Done():
	}
	return nil
}

// pauseAfter returns how long to wait after a crash: after the first not at all.
func pauseAfter(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(25*time.Millisecond<<min(failures, 12), maxPause)
}

// hostSockets are the two sockets between daemon and tool host.
type hostSockets struct {
	path      string // of the tool host's socket
	listener  net.Listener
	file      *os.File // the listener, for tool hosts
	functions *http.Server
	boot      api.Bootstrap
}

func (k *Keeper) listen() (*hostSockets, error) {
	s := &hostSockets{path: filepath.Join(k.o.RuntimeDir, "toolhost.sock")}
	s.boot = api.Bootstrap{ToolsDir: k.o.ToolsDir, Functions: filepath.Join(k.o.RuntimeDir, "functions.sock")}
	for _, t := range k.o.Registry.List() {
		s.boot.Reserved = append(s.boot.Reserved, t.Name)
	}
	listener, err := listenUnix(s.path)
	if err != nil {
		return nil, err
	}
	s.listener = listener
	if s.file, err = listener.File(); err != nil {
		s.close()
		return nil, err
	}
	functions, err := listenUnix(s.boot.Functions)
	if err != nil {
		s.close()
		return nil, err
	}
	s.functions = &http.Server{Handler: k.functions.handler(), ReadHeaderTimeout: startTimeout, ErrorLog: slog.NewLogLogger(k.o.Log.Handler(), slog.LevelWarn)}
	go func() { _ = s.functions.Serve(functions) }() // ends by close
	return s, nil
}

// listenUnix listens on a private Unix socket, also if a killed process has left the path.
func listenUnix(path string) (*net.UnixListener, error) {
	_ = os.Remove(path) // Listen reports anything else
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	return l, err
}

func (s *hostSockets) close() {
	_ = s.listener.Close()
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.functions != nil {
		_ = s.functions.Close()
	}
}

// start starts a tool host and takes over its tools.
func (k *Keeper) start(ctx context.Context, s *hostSockets) (*child, error) {
	k.changing.Lock()
	err := k.snapshots.finish()
	k.changing.Unlock()
	if err != nil {
		k.o.Log.Error("tools of files are missing", "err", err)
	}
	directory := openDirectory(k.o.ToolsDir)
	c, err := startChild(k.o.Self, s.boot, s.path, s.file, k.o.Log)
	if err != nil {
		directory.close()
		return nil, err
	}
	c.directory = directory
	if err = c.awaitReady(ctx); err == nil {
		err = k.takeOver(ctx, c)
	}
	if err != nil {
		c.stop()
		if errors.Is(err, errNoAnswer) {
			err = c.err // which says why
		}
		return nil, err
	}
	took := time.Since(c.startedAt)
	k.changing.Lock()
	err = k.snapshots.makeInitial(len(k.tools())) // before anybody can change a tool
	k.changing.Unlock()
	if err != nil {
		k.o.Log.Error("the first state of the tools is not kept", "err", err)
	}
	k.setChild(c)
	k.settle.Do(func() { close(k.settled) })
	k.o.Log.Info("tool host ready", "pid", c.pid, "tools", len(k.tools()), "took", took)
	return c, nil
}

// takeOver offers the tools of a tool host that has just started, when it has loaded all files.
func (k *Keeper) takeOver(ctx context.Context, c *child) error {
	ctx, cancel := context.WithTimeoutCause(ctx, loadTimeout, fmt.Errorf("the tool host did not load all files within %s", loadTimeout))
	defer cancel()
	return k.refresh(ctx, c)
}

// An ending says why a tool host is to be replaced. The zero value means the end of the daemon,
// or of a tool host that was told to end.
type ending struct {
	crashed bool
	request *request
}

// watch returns when the tool host is to be replaced.
func (k *Keeper) watch(ctx context.Context, c *child) ending {
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	go k.follow(life, c) // ends with life
	tick := time.NewTicker(healthPause)
	defer tick.Stop()
	for unanswered := 0; ; {
		select {
		case <-ctx.Done():
			return ending{}
		case r := <-k.requests:
			return ending{request: r}
		case <-c.exited:
			if c.endedWell() {
				k.o.Log.Info("the tool host was told to end", "pid", c.pid)
				return ending{}
			}
			k.o.Log.Error("the tool host has crashed", "pid", c.pid, "err", c.err)
			return ending{crashed: true}
		case <-tick.C:
		}
		if c.directory.wasReplaced() {
			k.o.Log.Warn("the tools directory was replaced: the tool host starts again", "dir", k.o.ToolsDir)
			return ending{}
		}
		if k.answers(ctx, c) {
			unanswered = 0
			if time.Since(c.startedAt) > wellAfter {
				k.setRestarts(0)
			}
			continue
		}
		if unanswered++; unanswered == maxUnanswered {
			k.o.Log.Error("the tool host does not answer: it is killed", "pid", c.pid)
			c.kill()
		}
	}
}

func (k *Keeper) answers(ctx context.Context, c *child) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	health, err := c.client.health(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.health = &health; err != nil {
		c.health = nil
	}
	return err == nil
}

// follow takes over the tools as they change, until ctx ends.
func (k *Keeper) follow(ctx context.Context, c *child) {
	for problem := ""; ctx.Err() == nil; {
		changed, err := c.client.awaitOther(ctx, k.listedOf(c))
		if changed {
			err = k.refresh(ctx, c)
		}
		if err == nil {
			problem = ""
		}
		if err == nil || wait.Sleep(ctx, healthPause) != nil || err.Error() == problem {
			continue // also if the tool host has ended
		}
		problem = err.Error()
		k.o.Log.Warn("changed tools are not offered yet", "err", err)
	}
}

// afterCrash counts a crash. After too many the tools are rolled back.
func (k *Keeper) afterCrash() {
	k.mu.Lock()
	k.restarts++
	k.crashes++
	n := k.restarts
	k.mu.Unlock()
	if n <= maxRestarts {
		return
	}
	k.setRestarts(0)
	k.changing.Lock()
	defer k.changing.Unlock()
	sn, err := k.snapshots.find("")
	if err == nil {
		err = k.snapshots.restore(sn, len(k.tools()))
	}
	if err != nil {
		k.noteRollback(fmt.Sprintf("The tool host has crashed %d times, and its tools could not be rolled back: %v.", n, err))
		k.o.Log.Error("the tools are not rolled back", "err", err)
		return
	}
	k.noteRollback(fmt.Sprintf("The tools were rolled back to the snapshot %s at %s, because the tool host had crashed %d times. "+
		"What they were before is the newest snapshot %s. A call of worker_restart or worker_rollback ends this notice.",
		sn.ID, time.Now().Format(time.DateTime), n, rescueName))
	k.o.Log.Warn("the tools are rolled back, because the tool host has crashed too often", "snapshot", sn.ID, "crashes", n)
}

// noteRollback notes what people should know of a rollback; empty if they do.
func (k *Keeper) noteRollback(says string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rolledBack = says
}

func (k *Keeper) setRestarts(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.restarts = n
}

// fail notes why no tool host runs.
func (k *Keeper) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.problem = "The tool host does not run: " + err.Error()
}

// setChild makes a tool host that has just started, or none, the present one.
func (k *Keeper) setChild(c *child) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c == nil {
		close(k.child.left)
		k.child, k.present = nil, make(chan struct{})
		return
	}
	k.child, k.problem = c, ""
	close(k.present)
}

// errEnded leaves a call to the next process of the gateway.
var errEnded = fmt.Errorf("the tool host has ended with the gateway: %w", core.ErrClosed)

// await returns the present tool host, and waits for one if there is none.
func (k *Keeper) await(ctx context.Context) (*child, error) {
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	for {
		k.mu.Lock()
		c, present, problem := k.child, k.present, k.problem
		k.mu.Unlock()
		if c != nil {
			return c, nil
		}
		select {
		case <-present:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-k.ended:
			if problem != "" {
				return nil, errors.New(problem)
			}
			return nil, errEnded
		case <-late.C:
			return nil, errors.New(cmp.Or(problem, fmt.Sprintf("The tool host did not start within %s.", startTimeout)))
		}
	}
}

// replace has the tool host replaced by another one, also if none runs, and returns when that
// serves.
func (k *Keeper) replace(ctx context.Context, between func() error) error {
	r := &request{between, make(chan error, 1)}
	select {
	case k.requests <- r:
	case <-k.ended:
	case <-ctx.Done():
	}
	select {
	case err := <-r.done:
		return err
	case <-k.ended:
		_, err := k.await(ctx)
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
