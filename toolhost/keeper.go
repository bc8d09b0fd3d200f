// Package toolhost is the daemon's end of the tool host: it starts the process and keeps it
// running, offers its tools, keeps snapshots of the tools directory, and carries out what
// scripts may use. The process itself is the package runner.
package toolhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/guard"
	"bareclaw/internal/withheld"
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
	KeepSnapshots int
	Grants        Grants
	Withheld      []string        // directories that no grant reaches, beside those of the tools and their snapshots
	Registry      *tools.Registry // gets the tools of the tool host
	Log           *slog.Logger
}

// withheld returns the directories that no grant reaches.
func (o *Options) withheld() withheld.Dirs {
	return append(slices.Clone(o.Withheld), o.ToolsDir, api.SnapshotsDir(o.ToolsDir))
}

// A Keeper keeps the tool host running. All methods are safe for concurrent use.
type Keeper struct {
	o        Options
	state    *state
	offer    *offer
	files    *toolFiles
	suspects suspects // used by Run alone
	requests chan *request
	settled  chan struct{} // closed when the tools are known, or the first start has failed
	settle   func()        // closes settled, once
}

// A request has the tool host replaced.
type request struct {
	between func() error // is called while no tool host runs; nil: nothing
	done    chan error   // receives the outcome; capacity 1
}

// New returns a Keeper. Run starts the tool host.
func New(o Options) *Keeper {
	k := &Keeper{
		o: o, state: newState(), files: newToolFiles(o.ToolsDir, o.KeepSnapshots), suspects: suspects{},
		requests: make(chan *request), settled: make(chan struct{}),
	}
	k.offer = &offer{registry: o.Registry, state: k.state, admission: newAdmission()}
	k.settle = sync.OnceFunc(func() { close(k.settled) })
	return k
}

// Settled returns a channel that is closed when the tools are known, or the first tool host
// could not be started.
func (k *Keeper) Settled() <-chan struct{} { return k.settled }

// AwaitTools returns when the tools are known, and else why they are not.
func (k *Keeper) AwaitTools(ctx context.Context) error {
	select {
	case <-k.settled:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if k.offer.count() > 0 {
		return nil
	}
	_, err := k.state.await(ctx)
	return err
}

// Status says how the tool host did a second ago. Status asks no process, and so is quick.
func (k *Keeper) Status() Status { return k.state.status() }

// Management returns the tools that look after the tool host.
func (k *Keeper) Management() []tools.Tool { return k.manager().tools() }

// Handler serves the paths of the tool host to other programs, with status 503 while no tool
// host runs. Calls and deletions take the same way as those of sessions. The caller checks the
// clients.
func (k *Keeper) Handler() http.Handler { return (&server{k.manager()}).routes() }

func (k *Keeper) manager() *manager { return &manager{k.state, k.offer, k.files, k.replace} }

// Run keeps a tool host running until ctx ends, and then ends it. Run must be called once.
func (k *Keeper) Run(ctx context.Context) {
	defer close(k.state.ended)
	defer k.settle()
	functions := api.NewServer(newFunctions(k.o.Grants, k.o.withheld()).handler(), k.o.Log)
	defer func() { _ = functions.Close() }()
	boot := api.Bootstrap{ToolsDir: k.o.ToolsDir}
	for _, t := range k.o.Registry.List() {
		boot.Reserved = append(boot.Reserved, t.Name)
	}
	var waiting *request // for the next tool host
	for failures := 0; ctx.Err() == nil; {
		c, err := k.start(ctx, boot, functions)
		if waiting != nil {
			waiting.done <- err
			waiting = nil
		}
		var end ending
		if err == nil {
			began := time.Now()
			end.crashed = true // unless watch returns
			_ = guard.Do(k.o.Log, "watching the tool host", func() error {
				end = k.watch(ctx, c)
				return nil
			})
			k.state.set(nil)
			if ctx.Err() != nil {
				c.leave()
				return
			}
			c.stop()
			if time.Since(began) > maxPause {
				failures = 0
			}
		} else if ctx.Err() == nil {
			k.state.fail(err)
			k.o.Log.Error("the tool host does not start", "err", err)
			end.crashed = true
			k.settle()
		}
		switch {
		case ctx.Err() != nil:
		case end.request != nil:
			waiting = end.request.begin()
		case end.crashed:
			k.afterCrash(ctx, end.explained)
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

// start starts a tool host and takes over its tools.
func (k *Keeper) start(ctx context.Context, boot api.Bootstrap, functions *http.Server) (*child, error) {
	if err := k.files.finish(); err != nil {
		k.o.Log.Error("tools of files are missing", "err", err)
	}
	directory := openDirectory(k.o.ToolsDir)
	boot.Skipped = k.suspects.skipped()
	c, err := startChild(k.o.Self, boot, functions, k.o.Log)
	if err != nil {
		directory.close()
		return nil, err
	}
	c.directory = directory
	if err = c.awaitReady(ctx, k.o.Log); err == nil {
		err = k.takeOver(ctx, c)
	}
	if err != nil {
		c.stop()
		culprit, _ := c.explain()
		k.blame(culprit)
		if errors.Is(err, errNoAnswer) {
			err = c.err // which says why
		}
		return nil, err
	}
	took := time.Since(c.startedAt)
	if err := k.files.makeInitial(ctx, k.offer.count()); err != nil { // before anybody can change a tool
		k.o.Log.Error("the first state of the tools is not kept", "err", err)
	}
	k.state.set(c)
	k.settle()
	k.o.Log.Info("tool host ready", "pid", c.pid, "tools", k.offer.count(), "took", took)
	return c, nil
}

// blame counts the end of a tool host that a file is to blame for; the zero value: none is. It returns
// the name of the file if the file is left out from now on.
func (k *Keeper) blame(f api.File) (leftOut string) {
	if f == (api.File{}) || !k.suspects.blame(f) {
		return ""
	}
	k.o.Log.Error("a file is left out until it changes: the tool host ends when it loads or runs the file", "file", f.Name)
	return f.Name
}

// takeOver offers the tools of a tool host that has just started, when it has loaded all files. If
// the tool host ends before, the error says why.
func (k *Keeper) takeOver(ctx context.Context, c *child) error {
	ctx, cancel := context.WithTimeoutCause(ctx, loadTimeout, fmt.Errorf("the tool host did not load all files within %s", loadTimeout))
	defer cancel()
	offered := make(chan error, 1)
	go func() { // ends with ctx
		offered <- guard.Do(k.o.Log, "reading the list of tools", func() error { return k.offer.refresh(ctx, c) })
	}()
	select {
	case err := <-offered:
		return err
	case <-c.exited:
		return c.err
	}
}

// An ending says why a tool host is to be replaced. The zero value means the end of the daemon,
// or of a tool host that was told to end.
type ending struct {
	crashed   bool
	explained bool // by calls or by a file: the other tools are not at fault
	request   *request
}

// watch returns when the tool host is to be replaced.
func (k *Keeper) watch(ctx context.Context, c *child) ending {
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	go k.offer.follow(life, c, k.o.Log) // ends with life
	tick := time.NewTicker(healthPause)
	defer tick.Stop()
	var due time.Time
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
			culprit, explained := c.explain()
			c.leftOut = k.blame(culprit)
			return ending{crashed: true, explained: explained}
		case due = <-tick.C:
		}
		if c.directory.wasReplaced() {
			k.o.Log.Warn("the tools directory was replaced: the tool host starts again", "dir", k.o.ToolsDir)
			return ending{}
		}
		if k.state.ask(ctx, c) {
			unanswered = 0
			if time.Since(c.startedAt) > wellAfter {
				k.state.forgetCrashes()
			}
			continue
		}
		if time.Since(due) > 2*healthTimeout {
			continue // the daemon was late itself, and may have missed the answer
		}
		if unanswered++; unanswered == maxUnanswered {
			k.o.Log.Error("the tool host does not answer: it is killed", "pid", c.pid)
			c.hung = true
			c.kill()
		}
	}
}

// afterCrash counts a crash. After too many that nothing explains the tools are rolled back.
func (k *Keeper) afterCrash(ctx context.Context, explained bool) {
	n := k.state.countCrash(explained)
	if n <= maxRestarts {
		return
	}
	k.state.forgetCrashes()
	sn, err := k.files.find("")
	if err == nil {
		err = k.files.restore(ctx, sn, k.offer.count())
	}
	if err != nil {
		k.state.noteRollback(fmt.Sprintf("The tool host has crashed %d times, and its tools could not be rolled back: %v.", n, err))
		k.o.Log.Error("the tools are not rolled back", "err", err)
		return
	}
	k.state.noteRollback(fmt.Sprintf("The tools were rolled back to the snapshot %s at %s, because the tool host had crashed %d times. "+
		"What they were before is the newest snapshot %s. A call of worker_restart or worker_rollback ends this notice.",
		sn.ID, time.Now().Format(time.DateTime), n, rescueName))
	k.o.Log.Warn("the tools are rolled back, because the tool host has crashed too often", "snapshot", sn.ID, "crashes", n)
}

// replace has the tool host replaced by another one, also if none runs, and returns when that
// serves.
func (k *Keeper) replace(ctx context.Context, between func() error) error {
	r := &request{between, make(chan error, 1)}
	select {
	case k.requests <- r:
	case <-k.state.ended:
	case <-ctx.Done():
	}
	select {
	case err := <-r.done:
		return err
	case <-k.state.ended:
		_, err := k.state.await(ctx)
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
