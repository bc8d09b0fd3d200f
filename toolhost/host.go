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

// Options are the parameters of a Host.
type Options struct {
	Self          string // path of this program
	ToolsDir      string
	RuntimeDir    string
	KeepSnapshots int
	Grants        Grants
	Registry      *tools.Registry // gets the tools of the tool host
	Log           *slog.Logger
}

// A Host keeps the tool host running. All methods are safe for concurrent use.
type Host struct {
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

// New returns a Host. Run starts the tool host.
func New(o Options) *Host {
	return &Host{
		o: o, functions: newFunctions(o.Grants), snapshots: newSnapshots(o.ToolsDir, o.KeepSnapshots),
		requests: make(chan *request), settled: make(chan struct{}), ended: make(chan struct{}),
		present: make(chan struct{}), offered: map[string]api.Tool{},
	}
}

// Settled returns a channel that is closed when the tools are known, or the first tool host
// could not be started.
func (h *Host) Settled() <-chan struct{} { return h.settled }

// Run keeps a tool host running until ctx ends, and then ends it. Run must be called once.
func (h *Host) Run(ctx context.Context) {
	defer close(h.ended)
	defer h.settle.Do(func() { close(h.settled) })
	sockets, err := h.listen()
	if err != nil {
		h.fail(err)
		h.o.Log.Error("no tool host: only the gateway's own tools work", "err", err)
		return
	}
	defer sockets.close()
	var waiting *request // for the next tool host
	for failures := 0; ctx.Err() == nil; {
		c, err := h.start(ctx, sockets)
		if waiting != nil {
			waiting.done <- err
			waiting = nil
		}
		var end ending
		if err == nil {
			began := time.Now()
			end = h.watch(ctx, c)
			h.setChild(nil)
			c.stop()
			if time.Since(began) > maxPause {
				failures = 0
			}
		} else if ctx.Err() == nil {
			h.fail(err)
			h.o.Log.Error("the tool host does not start", "err", err)
			end.crashed = true
			h.settle.Do(func() { close(h.settled) })
		}
		switch {
		case ctx.Err() != nil:
		case end.request != nil:
			if waiting = end.request; waiting.between == nil {
				continue
			}
			if err := waiting.between(); err != nil {
				waiting.done <- err
				waiting = nil
			}
		case end.crashed:
			h.recover()
			_ = wait.Sleep(ctx, pauseAfter(failures)) // then ctx has ended
			failures++
		}
	}
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

func (h *Host) listen() (*hostSockets, error) {
	s := &hostSockets{path: filepath.Join(h.o.RuntimeDir, "toolhost.sock")}
	s.boot = api.Bootstrap{ToolsDir: h.o.ToolsDir, Functions: filepath.Join(h.o.RuntimeDir, "functions.sock")}
	for _, t := range h.o.Registry.List() {
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
	s.functions = &http.Server{Handler: h.functions.handler(), ReadHeaderTimeout: startTimeout, ErrorLog: slog.NewLogLogger(h.o.Log.Handler(), slog.LevelWarn)}
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
func (h *Host) start(ctx context.Context, s *hostSockets) (*child, error) {
	h.changing.Lock()
	err := h.snapshots.finish()
	h.changing.Unlock()
	if err != nil {
		h.o.Log.Error("tools of files are missing", "err", err)
	}
	directory := openDirectory(h.o.ToolsDir)
	c, err := startChild(h.o.Self, s.boot, s.path, s.file, h.o.Log)
	if err != nil {
		directory.close()
		return nil, err
	}
	c.directory = directory
	if err = c.awaitReady(ctx); err == nil {
		err = h.takeOver(ctx, c)
	}
	if err != nil {
		c.stop()
		if errors.Is(err, errNoAnswer) {
			err = c.err // which says why
		}
		return nil, err
	}
	took := time.Since(c.startedAt)
	h.changing.Lock()
	err = h.snapshots.makeInitial(len(h.tools())) // before anybody can change a tool
	h.changing.Unlock()
	if err != nil {
		h.o.Log.Error("the first state of the tools is not kept", "err", err)
	}
	h.setChild(c)
	h.settle.Do(func() { close(h.settled) })
	h.o.Log.Info("tool host ready", "pid", c.pid, "tools", len(h.tools()), "took", took)
	return c, nil
}

// takeOver offers the tools of a tool host that has just started, when it has loaded all files.
func (h *Host) takeOver(ctx context.Context, c *child) error {
	ctx, cancel := context.WithTimeoutCause(ctx, loadTimeout, fmt.Errorf("the tool host did not load all files within %s", loadTimeout))
	defer cancel()
	return h.refresh(ctx, c)
}

// An ending says why a tool host is to be replaced. The zero value means the end of the daemon,
// or of a tool host that was told to end.
type ending struct {
	crashed bool
	request *request
}

// watch returns when the tool host is to be replaced.
func (h *Host) watch(ctx context.Context, c *child) ending {
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	go h.follow(life, c) // ends with life
	tick := time.NewTicker(healthPause)
	defer tick.Stop()
	for unanswered := 0; ; {
		select {
		case <-ctx.Done():
			return ending{}
		case r := <-h.requests:
			return ending{request: r}
		case <-c.exited:
			if c.endedWell() {
				h.o.Log.Info("the tool host was told to end", "pid", c.pid)
				return ending{}
			}
			h.o.Log.Error("the tool host has crashed", "pid", c.pid, "err", c.err)
			return ending{crashed: true}
		case <-tick.C:
		}
		if c.directory.wasReplaced() {
			h.o.Log.Warn("the tools directory was replaced: the tool host starts again", "dir", h.o.ToolsDir)
			return ending{}
		}
		if h.answers(ctx, c) {
			unanswered = 0
			if time.Since(c.startedAt) > wellAfter {
				h.setRestarts(0)
			}
			continue
		}
		if unanswered++; unanswered == maxUnanswered {
			h.o.Log.Error("the tool host does not answer: it is killed", "pid", c.pid)
			c.kill()
		}
	}
}

func (h *Host) answers(ctx context.Context, c *child) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	health, err := c.client.health(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.health = &health; err != nil {
		c.health = nil
	}
	return err == nil
}

// follow takes over the tools as they change, until ctx ends.
func (h *Host) follow(ctx context.Context, c *child) {
	for problem := ""; ctx.Err() == nil; {
		changed, err := c.client.awaitOther(ctx, h.listedOf(c))
		if changed {
			err = h.refresh(ctx, c)
		}
		if err == nil {
			problem = ""
		}
		if err == nil || wait.Sleep(ctx, healthPause) != nil || err.Error() == problem {
			continue // also if the tool host has ended
		}
		problem = err.Error()
		h.o.Log.Warn("changed tools are not offered yet", "err", err)
	}
}

// recover counts a crash. After too many the tools are rolled back.
func (h *Host) recover() {
	h.mu.Lock()
	h.restarts++
	h.crashes++
	n := h.restarts
	h.mu.Unlock()
	if n <= maxRestarts {
		return
	}
	h.setRestarts(0)
	h.changing.Lock()
	defer h.changing.Unlock()
	sn, err := h.snapshots.find("")
	if err == nil {
		err = h.snapshots.restore(sn, len(h.tools()))
	}
	if err != nil {
		h.noteRollback(fmt.Sprintf("The tool host has crashed %d times, and its tools could not be rolled back: %v.", n, err))
		h.o.Log.Error("the tools are not rolled back", "err", err)
		return
	}
	h.noteRollback(fmt.Sprintf("The tools were rolled back to the snapshot %s at %s, because the tool host had crashed %d times. "+
		"What they were before is the newest snapshot %s. A call of worker_restart or worker_rollback ends this notice.",
		sn.ID, time.Now().Format(time.DateTime), n, rescueName))
	h.o.Log.Warn("the tools are rolled back, because the tool host has crashed too often", "snapshot", sn.ID, "crashes", n)
}

// noteRollback notes what people should know of a rollback; empty if they do.
func (h *Host) noteRollback(says string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rolledBack = says
}

func (h *Host) setRestarts(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.restarts = n
}

// fail notes why no tool host runs.
func (h *Host) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problem = "The tool host does not run: " + err.Error()
}

// setChild makes a tool host that has just started, or none, the present one.
func (h *Host) setChild(c *child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c == nil {
		close(h.child.left)
		h.child, h.present = nil, make(chan struct{})
		return
	}
	h.child, h.problem = c, ""
	close(h.present)
}

// errEnded leaves a call to the next process of the gateway.
var errEnded = fmt.Errorf("the tool host has ended with the gateway: %w", core.ErrClosed)

// await returns the present tool host, and waits for one if there is none.
func (h *Host) await(ctx context.Context) (*child, error) {
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	for {
		h.mu.Lock()
		c, present, problem := h.child, h.present, h.problem
		h.mu.Unlock()
		if c != nil {
			return c, nil
		}
		select {
		case <-present:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-h.ended:
			if problem != "" {
				return nil, errors.New(problem)
			}
			return nil, errEnded
		case <-late.C:
			return nil, errors.New(cmp.Or(problem, fmt.Sprintf("The tool host did not start within %s.", startTimeout)))
		}
	}
}

// replace has the tool host replaced by another one, and returns when that serves.
func (h *Host) replace(ctx context.Context, between func() error) error {
	r := &request{between, make(chan error, 1)}
	if _, err := h.await(ctx); err != nil {
		return err
	}
	select {
	case h.requests <- r:
	case <-h.ended:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-r.done:
		return err
	case <-h.ended:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
