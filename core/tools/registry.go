package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/internal/guard"
	"bareclaw/internal/toolset"
	"bareclaw/internal/wait"
)

// ErrUnknown means that no tool has the name.
var ErrUnknown = errors.New("there is no such tool")

// A Registry holds the tools by name. All methods are safe for concurrent use.
type Registry struct {
	log    *slog.Logger
	checks chan struct{} // has a token for each check of large arguments at work

	mu       sync.RWMutex // guards the fields below
	policy   Policy
	tools    map[string]Tool
	version  int64 // counts the changes
	watches  []wait.Signal
	complete Awaiter                  // nil: all tools are known
	missing  func(name string) string // says why there is no tool with a name; nil: nobody knows
	calls    *callLog
	ended    func(CallEnd) // is told of each call; nil: nobody
}

// NewRegistry returns a registry without tools. Sessions may call every tool until Restrict is
// called.
func NewRegistry(log *slog.Logger) *Registry {
	return &Registry{log: log, checks: make(chan struct{}, runtime.GOMAXPROCS(0)), policy: unrestricted{}, tools: map[string]Tool{}}
}

// Restrict makes the registry ask the policy what sessions may call.
func (r *Registry) Restrict(policy Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.policy = policy
}

func (r *Registry) restrictions() Policy {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.policy
}

// RecordCalls makes the registry record the calls of sessions, and carry out each at most once.
func (r *Registry) RecordCalls(records RecordStore) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = &callLog{records: records, log: r.log}
}

// CallsOf returns what became of a turn's recorded calls, oldest first.
func (r *Registry) CallsOf(ctx context.Context, session string, turn core.TurnID) ([]core.ToolCall, error) {
	return r.recorded().ofTurn(ctx, session, turn)
}

func (r *Registry) recorded() *callLog {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.calls
}

// Set replaces all tools of a source. Set changes nothing and returns an error if a tool is
// unfit, or has the name of another one.
func (r *Registry) Set(source Source, all []Tool) error {
	return r.SetAll(map[Source][]Tool{source: all})
}

// SetAll replaces all tools of several sources at once, as Set does for one: a tool may move
// from one source to another.
func (r *Registry) SetAll(sources map[Source][]Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := maps.Clone(r.tools)
	maps.DeleteFunc(next, func(_ string, t Tool) bool { _, replaced := sources[t.Source]; return replaced })
	taken := make(map[string]Tool, len(next)) // by the name that claude shows
	for name, t := range next {
		taken[shown(name)] = t
	}
	for source, all := range sources {
		for _, t := range all {
			t.Source = source
			if err := t.fits(); err != nil {
				return err
			}
			if old := r.tools[t.Name]; bytes.Equal(old.Input, t.Input) {
				t.args = old.args
			} else {
				t.args = NewArgsSchema(t.Input)
			}
			if other, ok := taken[shown(t.Name)]; ok {
				return fmt.Errorf("tool %q: %q, a %s tool, has that name", t.Name, other.Name, other.Source)
			}
			next[t.Name], taken[shown(t.Name)] = t, t
		}
	}
	r.tools = next
	r.version++
	for _, w := range r.watches {
		w.Send()
	}
	return nil
}

// Watch returns a signal that is sent after each change.
func (r *Registry) Watch() wait.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := wait.NewSignal()
	r.watches = append(r.watches, w)
	return w
}

// Version returns a number that is another one after each change.
func (r *Registry) Version() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.version
}

// List returns all tools, sorted by name.
func (r *Registry) List() []Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.tools), func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
}

// Count returns the number of tools by source.
func (r *Registry) Count() map[Source]int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n := map[Source]int{}
	for name := range r.tools {
		n[r.tools[name].Source]++
	}
	return n
}

// ListOf returns the tools that sessions with a set of tools may use, sorted by name; for no
// choice, those of the gateway's own set.
func (r *Registry) ListOf(set toolset.Set) []Tool {
	if set == "" {
		set = r.restrictions().Tools("")
	}
	return slices.DeleteFunc(r.List(), func(t Tool) bool { return !inSet(set, t.Name) })
}

// ListFor returns the tools that a channel's session may use, sorted by name; all tools for a
// client outside of sessions, which has no channel.
func (r *Registry) ListFor(channel core.ChannelKey) []Tool { return r.ListOf(r.setOf(channel)) }

// setOf returns the tools that a channel's session may use. A client outside of sessions may use
// all tools.
func (r *Registry) setOf(channel core.ChannelKey) toolset.Set {
	if channel == "" {
		return toolset.All
	}
	return r.restrictions().Tools(channel)
}

// inSet reports whether sessions with the set may use the tool. By tool_search and tool_call they
// reach the others of the set only.
func inSet(set toolset.Set, name string) bool {
	return name == SearchName || name == CallName || set.Has(name)
}

// An Awaiter returns when the tool with a name is known, or all tools are; without a name, when all tools are.
// The error says why they will not be.
type Awaiter func(ctx context.Context, name string) error

// ExpectMore says that more tools are to come: calls of unknown tools wait for complete. Its error ends such a
// call; core.ErrClosed leaves the call to the next process of the gateway.
func (r *Registry) ExpectMore(complete Awaiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complete = complete
}

// ExplainMissing has the registry ask why there is no tool with a name. why returns a sentence; empty:
// no reason is known.
func (r *Registry) ExplainMissing(why func(name string) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing = why
}

// whyMissing returns why there is no tool with a name for a channel's session, as a sentence; empty
// if no reason is known.
func (r *Registry) whyMissing(name string, channel core.ChannelKey) string {
	r.mu.RLock()
	why := r.missing
	r.mu.RUnlock()
	if why == nil || !inSet(r.setOf(channel), name) {
		return ""
	}
	return why(name)
}

// Unknown returns the ErrUnknown of a call of a tool that a channel's session does not have, with the
// reason if there is one.
func (r *Registry) Unknown(name string, channel core.ChannelKey) error {
	if why := r.whyMissing(name, channel); why != "" {
		return fmt.Errorf("%w: %.120q. %s", ErrUnknown, name, why)
	}
	return fmt.Errorf("%w: %.120q", ErrUnknown, name)
}

// Wait blocks until the tool with a name has come, or all tools have; without a name, until all have. An error
// says why they will not, or is the cause of ctx.
func (r *Registry) Wait(ctx context.Context, name string) error {
	r.mu.RLock()
	complete := r.complete
	r.mu.RUnlock()
	if complete == nil {
		return nil
	}
	return complete(ctx, name)
}

// find is Find for a caller's channel. If more tools are to come, find waits for an unknown one.
func (r *Registry) find(ctx context.Context, name string, channel core.ChannelKey) (t Tool, ok bool, err error) {
	if !inSet(r.setOf(channel), name) {
		return t, false, nil
	}
	if t, ok = r.Find(name); ok {
		return t, true, nil
	}
	err = r.Wait(ctx, name)
	if t, ok = r.Find(name); ok {
		err = nil
	}
	return t, ok, err
}

// Find returns the tool with a name.
func (r *Registry) Find(name string) (Tool, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.tools[name]
	return t, ok
}

// Call carries out a call and logs the call. A call of a session that is on record is not
// carried out again. A fault of the tool is a result with IsError. The error is ErrUnknown, the
// cause of ctx, or core.ErrClosed.
func (r *Registry) Call(ctx context.Context, name string, c Call) (result Result, err error) {
	t, ok, err := r.find(ctx, name, c.Channel)
	switch {
	case errors.Is(err, core.ErrClosed):
		return Result{}, NotBegun(name, err)
	case ctx.Err() != nil && !ok:
		return Result{}, context.Cause(ctx)
	case err != nil:
		return failed("%.120s is not known yet: %s", name, err), nil
	case !ok:
		return Result{}, r.Unknown(name, c.Channel)
	}
	began := time.Now()
	defer func() { err = cutOf(&t, err) }()
	defer func() { r.end(&t, c.Channel, time.Since(began), outcomeOf(result, err)) }()
	if err := r.checkArgs(ctx, &t, &c); err != nil {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		return failed("%s", err), nil
	}
	if c.Answered == nil { // else set by the call of tool_call
		c.Answered = ctx.Done()
	}
	return r.recorded().once(ctx, &t, c, func(c Call) (Result, error) { return r.run(ctx, &t, c) })
}

// run carries out a call within the time of the tool.
func (r *Registry) run(ctx context.Context, t *Tool, c Call) (Result, error) {
	limit := t.Timeout
	if limit == 0 {
		limit = DefaultTimeout
	}
	late := fmt.Errorf("%s did not end within %s", t.Name, limit)
	bounded, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	result, err := r.handle(bounded, t, c)
	switch {
	case err == nil: // the tool has taken effect, even if ctx has ended meanwhile
		return result, nil
	case errors.Is(err, core.ErrClosed):
		return Result{}, err
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case bounded.Err() != nil && !errors.Is(err, late): // else the tool says more
		err = late
	}
	return failed("%s", err), nil
}

// handle calls the tool, unless the call reaches too far. A panic is an error: a fault of one
// tool must not end the daemon.
func (r *Registry) handle(ctx context.Context, t *Tool, c Call) (result Result, err error) {
	err = guard.Do(r.log, "running a tool", func() (err error) {
		if err = r.permit(ctx, t, c); err == nil {
			result, err = t.Handle(ctx, c)
		}
		return err
	}, "tool", t.Name)
	if errors.Is(err, guard.ErrPanic) {
		err = fmt.Errorf("%s failed by an error of the gateway, which its log describes", t.Name)
	}
	return result, err
}

// fits returns why claude could not use the tool. Claude drops all tools of a server if one has
// no schema of an object.
func (t *Tool) fits() error {
	var schema struct {
		Type any `json:"type"`
	}
	switch err := json.Unmarshal(t.Input, &schema); {
	case !toolset.IsName(t.Name):
		return fmt.Errorf("tool %.150q: a name is 1 to %d letters, digits and _ . -", t.Name, toolset.MaxName)
	case err != nil:
		return fmt.Errorf("tool %q: its schema is not a JSON object: %w", t.Name, err)
	case schema.Type != "object":
		return fmt.Errorf("tool %q: the type of its schema must be \"object\"", t.Name)
	case t.Handle == nil:
		return fmt.Errorf("tool %q has no handler", t.Name)
	}
	return nil
}

// shown returns the name under which claude shows a tool.
func shown(name string) string { return strings.ReplaceAll(name, ".", "_") }
