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
	Withheld      []string // directories that no grant reaches, beside those of the tools and their snapshots
	Log           *slog.Logger
}

// withheld returns the directories that no grant reaches.
func (o *Options) withheld() withheld.Dirs {
	return append(slices.Clone(o.Withheld), o.ToolsDir, api.SnapshotsDir(o.ToolsDir), api.GoodDir(o.ToolsDir))
}

// A Keeper keeps the tool host running. All methods are safe for concurrent use.
type Keeper struct {
	o        Options
	state    *state
	offer    *offer
	files    *toolFiles
	suspects suspects // used by Run alone
	pauses   pauses   // likewise
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
		o:        o,
		state:    newState(),
		files:    newToolFiles(o.ToolsDir, o.KeepSnapshots, o.Log),
		suspects: suspects{},
		pauses:   newPauses(),
		requests: make(chan *request),
		settled:  make(chan struct{}),
	}
	k.offer = newOffer(k.state)
	k.settle = sync.OnceFunc(func() { close(k.settled) })
	return k
}

// Settled returns a channel that is closed when the tools are known, or the first tool host
// could not be started.
func (k *Keeper) Settled() <-chan struct{} { return k.settled }

// Loaded returns a channel that is closed when the tools of all files are offered for the first time.
func (k *Keeper) Loaded() <-chan struct{} { return k.offer.whole }

// awaitTools implements [tools.LateSource]. It waits for a while until files are loaded.
func (k *Keeper) awaitTools(ctx context.Context, name string) error {
	select {
	case <-k.settled:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if k.offer.count() > 0 {
		return k.offer.await(ctx, name)
	}
	_, err := k.state.await(ctx)
	return err
}

// whyMissing returns why there is no tool with a name, as a sentence; empty if no reason is known.
func (k *Keeper) whyMissing(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	now := k.state.statusNow(ctx)
	return now.whyMissing(k.offer.fileOf(name))
}

// Status says how the tool host did a second ago. Status asks no process, and so is quick.
func (k *Keeper) Status() Status { return k.state.status() }

// Handler serves the paths of the tool host to other programs, with status 503 while no tool
// host runs. Calls and deletions take the same way as those of sessions, by the registry that has
// the Keeper's sources. The caller checks the clients.
func (k *Keeper) Handler(registry *tools.Registry) http.Handler {
	return (&server{k.manager(registry)}).routes()
}

func (k *Keeper) manager(registry *tools.Registry) *manager {
	return &manager{
		registry: registry,
		state:    k.state,
		offer:    k.offer,
		files:    k.files,
		replace:  k.replace,
	}
}

// Run keeps a tool host running until ctx ends, and then ends it. The names of the gateway's own tools
// are reserved. Run must be called once, and after the registry is made of the Keeper's sources.
func (k *Keeper) Run(ctx context.Context, registry *tools.Registry) {
	defer close(k.state.ended)
	defer k.settle()
	functions := api.NewServer(newFunctions(k.o.Grants, k.o.withheld()).handler(), k.o.Log)
	defer func() { _ = functions.Close() }()
	var following sync.WaitGroup
	defer following.Wait() // whoever removes the directories does so after Run
	following.Go(func() { k.offer.followGood(ctx, k.files.good) })
	boot := api.Bootstrap{ToolsDir: k.o.ToolsDir, GoodDir: k.files.good.dir}
	for _, t := range registry.List(tools.View{}) {
		if t.Source == tools.Gateway {
			boot.Reserved = append(boot.Reserved, t.Name)
		}
	}
	var waiting *request // for the next tool host
	for ctx.Err() == nil {
		c, why, err := k.start(ctx, boot, functions)
		if waiting != nil {
			waiting.done <- err
			waiting = nil
		}
		end := ending{cause: why}
		if err == nil {
			end = k.use(ctx, c)
		} else if ctx.Err() == nil {
			k.state.fail(err)
			k.o.Log.Error("the tool host does not start", "err", err)
			k.settle()
		}
		switch {
		case ctx.Err() != nil:
		case end.request != nil:
			waiting = k.begin(end.request)
		case end.cause.isCrash():
			if k.afterCrash(ctx, end.cause) {
				k.pauses.rolledBack()
			}
			pause := k.pauses.next()
			k.o.Log.Info("the tool host has crashed, and starts again", "pause", pause)
			if r := k.pause(ctx, pause); r != nil {
				waiting = k.begin(r)
			}
		}
	}
}

// use has a tool host serve until it is to be replaced, and ends it.
func (k *Keeper) use(ctx context.Context, c *child) (end ending) {
	began := time.Now()
	end.cause = isUnknown // unless watch returns
	_ = guard.Do(k.o.Log, "watching the tool host", func() error {
		end = k.watch(ctx, c)
		return nil
	})
	k.state.set(nil)
	if ctx.Err() != nil {
		c.leave()
		return end
	}
	c.stop()
	if time.Since(began) > maxPause {
		k.pauses.reset()
	}
	return end
}

// begin does what is to be done while no tool host runs. Whoever asks for that may have mended what was wrong:
// pauses and suspicions begin anew. It returns the request, or nil if that has failed.
func (k *Keeper) begin(r *request) *request {
	k.pauses.reset()
	clear(k.suspects)
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

// start starts a tool host and takes over its tools. If that fails, why says what that counts as.
func (k *Keeper) start(ctx context.Context, boot api.Bootstrap, functions *http.Server) (c *child, why cause, err error) {
	if err := k.files.finish(); err != nil {
		k.o.Log.Error("tools of files are missing", "err", err)
	}
	directory := openDirectory(k.o.ToolsDir)
	boot.Skipped = k.suspects.skipped()
	c, err = startChild(k.o.Self, boot, functions, k.o.Log)
	if err != nil {
		directory.close()
		return nil, isUnknown, err
	}
	c.directory = directory
	if err = c.awaitReady(ctx, k.o.Log); err == nil {
		err = k.takeOver(ctx, c)
	}
	if err != nil {
		c.stop()
		culprit, why := c.explain()
		k.blame(culprit, why)
		if errors.Is(err, errNoAnswer) {
			err = c.err // which says why
		}
		return nil, why, err
	}
	took := time.Since(c.startedAt)
	if err := k.files.makeInitial(ctx, k.offer.count()); err != nil { // before anybody can change a tool
		k.o.Log.Error("the first state of the tools is not kept", "err", err)
	}
	k.state.set(c)
	k.settle()
	k.o.Log.Info("tool host ready", "pid", c.pid, "tools", k.offer.count(), "took", took)
	return c, wasTold, nil
}

// blame counts the end of a tool host that a file is to blame for; the zero value: none is. It returns
// the name of the file if the file is left out from now on.
func (k *Keeper) blame(f api.File, why cause) (leftOut string) {
	if f == (api.File{}) || !k.suspects.blame(f, why) {
		return ""
	}
	k.pauses.reset() // the next start may well go better
	k.o.Log.Error("a file is left out until it changes or worker_restart is called", "file", f.Name, "reason", k.suspects[f].why)
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
	cause   cause
	request *request // nil: nobody has asked for that
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
			culprit, why := c.explain()
			if why == isStuck {
				c.blocked = c.stuck.Tool
				k.o.Log.Error("the tool host starts again: a tool could not be interrupted", "pid", c.pid, "tool", c.stuck.Tool)
			} else {
				k.o.Log.Error("the tool host has crashed", "pid", c.pid, "err", c.err)
			}
			c.leftOut = k.blame(culprit, why)
			return ending{cause: why}
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

// afterCrash counts a crash. After too many that nothing explains the tools are rolled back; it reports whether
// they are.
func (k *Keeper) afterCrash(ctx context.Context, why cause) bool {
	n := k.state.countCrash(why)
	if n <= maxRestarts {
		return false
	}
	k.state.forgetCrashes()
	sn, err := k.files.find("")
	if err == nil {
		err = k.files.restore(ctx, sn, k.offer.count())
	}
	if err != nil {
		k.state.noteRollback(fmt.Sprintf("The tool host has crashed %d times, and its tools could not be rolled back: %v.", n, err))
		k.o.Log.Error("the tools are not rolled back", "err", err)
		return false
	}
	clear(k.suspects)
	k.state.noteRollback(fmt.Sprintf("The tools were rolled back to the snapshot %s at %s, because the tool host had crashed %d times. "+
		"What they were before is the newest snapshot %s. A call of worker_restart or worker_rollback ends this notice.",
		sn.ID, time.Now().Format(time.DateTime), n, rescueName))
	k.o.Log.Warn("the tools are rolled back, because the tool host has crashed too often", "snapshot", sn.ID, "crashes", n)
	return true
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
