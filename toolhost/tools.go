package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// extraTime is how much longer a call may take here than in the tool host, which reports the
// end of the time itself: the time to start a tool host and to notice one that hangs.
const extraTime = startTimeout + 5*time.Second

// refresh offers the tools that a tool host has now.
func (k *Keeper) refresh(ctx context.Context, c *child) error {
	k.listing.Lock()
	defer k.listing.Unlock()
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
		t := k.toolOf(d)
		all[t.Source] = append(all[t.Source], t)
	}
	if err := k.o.Registry.SetAll(all); err != nil {
		return fmt.Errorf("offer the tools of the tool host: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.offered, c.listed = offered, version
	return nil
}

// listedOf returns the version of the tool host's list that is offered.
func (k *Keeper) listedOf(c *child) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return c.listed
}

// tools returns the tools of the tool host, by name.
func (k *Keeper) tools() map[string]api.Tool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.offered
}

// toolOf returns a tool that the tool host carries out.
func (k *Keeper) toolOf(d api.Tool) tools.Tool {
	t := tools.Tool{Name: d.Name, Description: d.Description, Source: tools.Builtin, Input: d.InputSchema, Output: d.OutputSchema}
	if d.File != "" {
		t.Source = tools.Dynamic
	}
	if a := d.Annotations; a != nil {
		t.Annotations = tools.Annotations{Title: a.Title, ReadOnly: a.ReadOnlyHint, Idempotent: a.IdempotentHint, Destructive: a.DestructiveHint}
	}
	t.Timeout = time.Duration(d.TimeoutMS) * time.Millisecond
	if t.Timeout == 0 {
		t.Timeout = tools.DefaultTimeout
	}
	t.Timeout += extraTime
	again := t.Annotations.ReadOnly || t.Annotations.Idempotent
	t.Handle = func(ctx context.Context, c tools.Call) (tools.Result, error) {
		return k.call(ctx, d.Name, c.Args, again)
	}
	return t
}

// call has the tool host carry out a call. If the tool host ends meanwhile, a call that may run
// again is repeated once.
func (k *Keeper) call(ctx context.Context, name string, args json.RawMessage, again bool) (tools.Result, error) {
	for repeated := false; ; {
		c, err := k.await(ctx)
		if err != nil {
			return tools.Result{}, err
		}
		result, err := c.client.call(ctx, name, args)
		switch {
		case !errors.Is(err, errNoAnswer):
			return result, err
		case !again:
			return tools.Result{}, fmt.Errorf("the tool host ended during the call of %s, which may have had effects: %w", name, err)
		case repeated:
			return tools.Result{}, fmt.Errorf("the tool host ended twice during the call of %s: %w", name, err)
		}
		repeated = true
		awaitGone(ctx, c)
	}
}

// awaitGone returns when a tool host that did not answer is no longer the present one.
func awaitGone(ctx context.Context, c *child) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-c.left:
	case <-ctx.Done():
	}
}
