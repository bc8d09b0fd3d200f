package toolhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// An offer is the tool host's tools in the registry. All methods are safe for concurrent use.
type offer struct {
	registry  *tools.Registry
	state     *state
	admission *admission

	listing sync.Mutex // held while the registry gets a list of tools

	mu      sync.Mutex          // guards the fields below
	offered map[string]api.Tool // by name; nobody changes the map
	version string              // of the tool host's list
}

// refresh offers the tools that a tool host has now.
func (o *offer) refresh(ctx context.Context, c *child) error {
	o.listing.Lock()
	defer o.listing.Unlock()
	list, version, err := c.client.list(ctx)
	if err != nil {
		return err
	}
	offered := make(map[string]api.Tool, len(list))
	all := map[tools.Source][]tools.Tool{tools.Builtin: nil, tools.Dynamic: nil}
	for _, d := range list {
		offered[d.Name] = d
		if d.Name == api.CreateTool { // which the daemon offers
			continue
		}
		t := o.toolOf(d)
		all[t.Source] = append(all[t.Source], t)
	}
	o.mu.Lock() // first, so that whoever sees a tool in the registry finds its file here
	defer o.mu.Unlock()
	if err := o.registry.SetAll(all); err != nil {
		return fmt.Errorf("offer the tools of the tool host: %w", err)
	}
	o.offered, o.version = offered, version
	return nil
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

// count returns the number of tools.
func (o *offer) count() int {
	all, _ := o.tools()
	return len(all)
}

// toolOf returns a tool that the tool host carries out.
func (o *offer) toolOf(d api.Tool) tools.Tool {
	t := tools.Tool{Name: d.Name, Description: d.Description, Source: tools.Builtin, Input: d.InputSchema, Output: d.OutputSchema, Reach: tools.ReachOwn}
	if d.File != "" {
		t.Source, t.ChecksArgs = tools.Dynamic, true // in the tool host, which may be killed
	}
	if a := d.Annotations; a != nil {
		t.Annotations = tools.Annotations{Title: a.Title, ReadOnly: a.ReadOnlyHint, Idempotent: a.IdempotentHint, Destructive: a.DestructiveHint}
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
// again is repeated once.
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
		result, err := c.call(ctx, t, call.Args)
		if !errors.Is(err, errNoAnswer) {
			return result, err
		}
		leftOut := c.awaitLeft(ctx)
		if repeated || !again {
			return tools.Result{}, fmt.Errorf("the tool host ended %s and had to be restarted%s: %w", during(t.Name, repeated), withoutFile(leftOut), err)
		}
	}
}

// during says during what the tool host ended.
func during(call string, repeated bool) string {
	if repeated {
		return fmt.Sprintf("twice during the call of %s,", call)
	}
	return fmt.Sprintf("during the call of %s, which may have had effects,", call)
}

// withoutFile says that a file is left out; empty: nothing.
func withoutFile(leftOut string) string {
	if leftOut == "" {
		return ""
	}
	return fmt.Sprintf("; %s is left out until it changes", leftOut)
}
