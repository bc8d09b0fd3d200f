package toolhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/guard"
	"bareclaw/internal/wait"
	"bareclaw/toolhost/api"
)

// extraTime is how much longer a call may take here than in the tool host, which reports the
// end of the time itself: the time to start a tool host and to notice one that hangs.
const extraTime = startTimeout + 5*time.Second

// An offer is the tool host's tools as the daemon offers them. All methods are safe for concurrent
// use.
type offer struct {
	builtin   *tools.List
	dynamic   *tools.List
	state     *state
	admission *admission

	listing sync.Mutex // held while the lists get other tools

	consoles *consoles
	changed  wait.Signal   // of the tools; used by followGood
	whole    chan struct{} // closed when the tools of all files are offered for the first time
	setWhole func()        // closes whole, once

	mu      sync.Mutex          // guards the fields below
	offered map[string]api.Tool // by name; nobody changes the map
	version string              // of the tool host's list
	gone    map[string]string   // files of tools that were offered and are no longer, by the tool's name
	partial bool                // files are left to be loaded
	news    chan struct{}       // closed at the next change of the fields above
}

func newOffer(s *state) *offer {
	o := &offer{
		builtin:   tools.NewList(api.Builtin),
		dynamic:   tools.NewList(api.Dynamic),
		state:     s,
		admission: newAdmission(),
		consoles:  newConsoles(),
		changed:   wait.NewSignal(),
		whole:     make(chan struct{}),
		gone:      map[string]string{},
		partial:   true,
		news:      make(chan struct{}),
	}
	o.setWhole = sync.OnceFunc(func() { close(o.whole) })
	return o
}

// refresh offers the tools that a tool host has now. While files are left to be loaded, the tools of before stay.
func (o *offer) refresh(ctx context.Context, c *child) error {
	o.listing.Lock()
	defer o.listing.Unlock()
	l, err := c.client.list(ctx)
	if err != nil {
		return err
	}
	before, _ := o.tools()
	offered := make(map[string]api.Tool, len(l.tools))
	if l.partial {
		maps.Copy(offered, before)
	}
	for _, d := range l.tools {
		offered[d.Name] = d
	}
	all := map[*tools.List][]tools.Tool{o.builtin: nil, o.dynamic: nil}
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		d := offered[name]
		list := o.builtin
		if d.File != "" {
			list = o.dynamic
		}
		if name != api.CreateTool { // which the daemon offers
			all[list] = append(all[list], o.toolOf(d))
		}
	}
	o.mu.Lock() // first, so that whoever sees a tool in the registry finds its file here
	defer o.mu.Unlock()
	if err := tools.ReplaceAll(all); err != nil {
		return fmt.Errorf("offer the tools of the tool host: %w", err)
	}
	o.offered, o.version, o.partial = offered, l.version, l.partial
	o.noteGone(before)
	if !l.partial {
		o.setWhole()
	}
	close(o.news)
	o.news = make(chan struct{})
	o.changed.Send()
	return nil
}

// maxGone is the number of tools whose files are remembered when they are no longer offered.
const maxGone = 1000

// noteGone notes the files of tools that were offered before and are no longer. The caller holds the lock.
func (o *offer) noteGone(before map[string]api.Tool) {
	maps.DeleteFunc(o.gone, func(name, _ string) bool { _, back := o.offered[name]; return back })
	for name, d := range before {
		if _, still := o.offered[name]; !still && d.File != "" && len(o.gone) < maxGone {
			o.gone[name] = d.File
		}
	}
}

// await returns when there is a tool with a name, or no file is left to be loaded. After some time it returns an
// error.
func (o *offer) await(ctx context.Context, name string) error {
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	for {
		o.mu.Lock()
		_, known := o.offered[name]
		done, news := known || !o.partial, o.news
		o.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-news:
		case <-o.state.ended:
			return errEnded
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return errors.New("the tool host is still loading files; call it again in a moment")
		}
	}
}

// followGood keeps the versions of files whose tools are offered, until ctx ends.
func (o *offer) followGood(ctx context.Context, good *goodFiles) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.changed:
		}
		all, _ := o.tools()
		good.keep(ctx, all)
	}
}

// reload has a tool host read the tools directory, and offers the tools that are there.
func (o *offer) reload(ctx context.Context, c *child) (api.Reloaded, error) {
	reloaded, err := c.client.reload(ctx)
	if err == nil {
		err = o.refresh(ctx, c)
	}
	return reloaded, err
}

// follow takes over the tools as they change, until ctx ends. It logs a new problem, and keeps the
// tools that are offered.
func (o *offer) follow(ctx context.Context, c *child, log *slog.Logger) {
	for problem := ""; ctx.Err() == nil; {
		err := guard.Do(log, "reading the list of tools", func() error { return o.followOne(ctx, c) })
		pause := healthPause
		switch {
		case err == nil:
			problem = ""
		case errors.Is(err, guard.ErrPanic):
			pause = maxPause // the log has a stack for each
		}
		if err == nil || wait.Sleep(ctx, pause) != nil || err.Error() == problem {
			continue // also if the tool host has ended
		}
		problem = err.Error()
		log.Warn("changed tools are not offered yet", "err", err)
	}
}

// followOne waits for another list of tools, for some time, and offers them.
func (o *offer) followOne(ctx context.Context, c *child) error {
	_, version := o.tools()
	changed, err := c.client.awaitOther(ctx, version)
	if changed {
		err = o.refresh(ctx, c)
	}
	return err
}

// tools returns the tools of the tool host by name, and the version of the list.
func (o *offer) tools() (all map[string]api.Tool, version string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.offered, o.version
}

// find returns a tool of the tool host.
func (o *offer) find(name string) (api.Tool, bool) {
	all, _ := o.tools()
	t, ok := all[name]
	return t, ok
}

// fileOf returns the name of the file that defines a tool, or has defined it, or would do so.
func (o *offer) fileOf(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return cmp.Or(o.offered[name].File, o.gone[name], name+".ts")
}

// count returns the number of tools.
func (o *offer) count() int {
	all, _ := o.tools()
	return len(all)
}

// toolOf returns a tool that the tool host carries out.
func (o *offer) toolOf(d api.Tool) tools.Tool {
	t := d.Tool
	t.ByName = true
	t.Reach = tools.ReachOwn
	t.Revision = d.Sum
	if d.File != "" {
		t.ChecksArgs = true // in the tool host, which may be killed
	}
	t.Timeout = time.Duration(d.TimeoutMS) * time.Millisecond
	if t.Timeout == 0 {
		t.Timeout = tools.DefaultTimeout
	}
	if d.File != "" {
		t.Timeout += api.MachineWait
	}
	t.Timeout += extraTime
	again := t.Annotations.ReadOnly || t.Annotations.Idempotent
	t.Handle = func(ctx context.Context, c tools.Call) (tools.Result, error) {
		return o.call(ctx, d, c, again)
	}
	return t
}

// call has the tool host carry out a call. If the tool host ends meanwhile, a call that may run
// again is repeated once, unless its own tool is the reason.
func (o *offer) call(ctx context.Context, t api.Tool, call tools.Call, again bool) (tools.Result, error) {
	leave, err := o.admission.enter(ctx, t.Name, call.Channel)
	if err != nil {
		return tools.Result{}, err
	}
	defer leave()
	for repeated := false; ; repeated = true {
		c, err := o.state.await(ctx)
		if errors.Is(err, errEnded) && !repeated {
			return tools.Result{}, tools.ErrNotBegun
		}
		if err != nil {
			return tools.Result{}, err
		}
		reply, err := c.call(ctx, t, call.Args)
		switch {
		case err != nil && !errors.Is(err, errNoAnswer):
			return tools.Result{}, err
		case err == nil && !reply.Stuck:
			o.consoles.keep(t.Name, call, reply.Console)
			return resultOf(reply), nil
		}
		ended := &endedError{tool: t.Name, repeated: repeated, cause: err}
		if ended.stuck, ended.leftOut = c.awaitLeft(ctx); reply.Stuck {
			o.consoles.keep(t.Name, call, reply.Console)
			ended.stuck = t.Name
		}
		if ended.stuck == t.Name || repeated || !again {
			return tools.Result{}, ended
		}
	}
}

// resultOf returns the result of a call as the tool host has sent it.
func resultOf(reply api.CallReply) tools.Result {
	r := tools.Result{
		Structured: reply.StructuredContent,
		IsError:    reply.IsError,
	}
	if r.Structured == nil {
		r.Text = reply.Content[0].Text // else it is the object
	}
	return r
}

// An endedError says that the tool host has ended during a call.
type endedError struct {
	tool     string // that was called
	repeated bool   // the call had been cut before
	stuck    string // the tool that could not be interrupted; empty: none
	leftOut  string // the file that is left out because of that; empty: none
	cause    error  // nil: the tool host has told before
}

// Error says what has happened, and whom it concerns.
func (e *endedError) Error() string {
	without := ""
	if e.leftOut != "" {
		without = fmt.Sprintf("; %s is left out until it changes or worker_restart is called", e.leftOut)
	}
	during := fmt.Sprintf("during the call of %s, which may have had effects,", e.tool)
	if e.repeated {
		during = fmt.Sprintf("twice during the call of %s,", e.tool)
	}
	switch {
	case e.stuck == e.tool:
		return fmt.Sprintf("the tool %s could not be interrupted after its time limit; the tool host was restarted%s", e.tool, without)
	case e.stuck != "":
		return fmt.Sprintf("the tool host was restarted %s because the tool %s could not be interrupted after its time limit%s", during, e.stuck, without)
	}
	return fmt.Sprintf("the tool host ended %s and had to be restarted%s: %v", during, without, e.cause)
}

// Unwrap returns the error of the connection.
func (e *endedError) Unwrap() error { return e.cause }
