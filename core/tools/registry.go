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

// Options are what a registry is made with. Log alone is required.
type Options struct {
	Log     *slog.Logger
	Sources []Source      // in the order in which calls of unknown tools wait for them
	Policy  Policy        // says what sessions may call; nil: all tools
	Records RecordStore   // of the calls of sessions, each of which is carried out at most once; nil: none
	Ended   func(CallEnd) // is called at the end of each call, and must not block; nil: nobody is told
}

// A Registry holds the tools by name. All methods are safe for concurrent use.
type Registry struct {
	log    *slog.Logger
	names  []string // of the sources
	late   []LateSource
	policy Policy
	calls  *callLog
	ended  func(CallEnd)
	checks chan struct{} // has a token for each check of large arguments at work

	mu      sync.RWMutex // guards the fields below
	tools   map[string]Tool
	version int64 // counts the changes
	watches []wait.Signal
}

// NewRegistry returns a registry with the first tools of its sources. The error says which tool is
// unfit, or has the name of another one.
func NewRegistry(o Options) (*Registry, error) {
	r := &Registry{
		log:    o.Log,
		policy: o.Policy,
		ended:  o.Ended,
		checks: make(chan struct{}, runtime.GOMAXPROCS(0)),
		tools:  map[string]Tool{},
	}
	if r.policy == nil {
		r.policy = unrestricted{}
	}
	if o.Records != nil {
		r.calls = &callLog{records: o.Records, log: o.Log}
	}
	next := newChange(r.tools)
	for _, source := range o.Sources {
		r.names = append(r.names, source.Name())
		if late, ok := source.(LateSource); ok {
			r.late = append(r.late, late)
		}
		for _, t := range source.Tools(r) {
			if err := next.add(t, source.Name(), nil); err != nil {
				return nil, err
			}
		}
	}
	r.tools = next.tools
	return r, nil
}

// CallsOf returns what became of a turn's recorded calls, oldest first.
func (r *Registry) CallsOf(ctx context.Context, session string, turn core.TurnID) ([]core.ToolCall, error) {
	return r.calls.ofTurn(ctx, session, turn)
}

// replace replaces all tools of some lists.
func (r *Registry) replace(lists map[*List][]Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := newChange(r.tools)
	for l := range lists {
		next.drop(l)
	}
	for l, all := range lists {
		for _, t := range all {
			if err := next.add(t, l.name, l); err != nil {
				return err
			}
		}
	}
	r.tools = next.tools
	r.version++
	for _, w := range r.watches {
		w.Send()
	}
	return nil
}

// A change is the tools of a registry as they will be.
type change struct {
	before map[string]Tool
	tools  map[string]Tool
	shown  map[string]string // the names of the tools, by the name that claude shows
}

func newChange(before map[string]Tool) *change {
	c := &change{before: before, tools: maps.Clone(before), shown: map[string]string{}}
	for name := range before {
		c.shown[shown(name)] = name
	}
	return c
}

// drop removes the tools of a list.
func (c *change) drop(l *List) {
	for name := range c.tools {
		if c.tools[name].list == l {
			delete(c.tools, name)
			delete(c.shown, shown(name))
		}
	}
}

// add adds a tool of a source, which may be a list. The error says why the tool is refused.
func (c *change) add(t Tool, source string, l *List) error {
	t.Source = source
	t.list = l
	if err := t.fits(); err != nil {
		return err
	}
	if other, ok := c.shown[shown(t.Name)]; ok {
		return fmt.Errorf("tool %q: %q, a %s tool, has that name", t.Name, other, c.tools[other].Source)
	}
	if old := c.before[t.Name]; old.args != nil && bytes.Equal(old.Input, t.Input) {
		t.args = old.args
	} else {
		t.args = NewArgsSchema(t.Input)
	}
	c.tools[t.Name] = t
	c.shown[shown(t.Name)] = t.Name
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

// Count returns the number of tools by the name of their source, for all sources of the registry.
func (r *Registry) Count() map[string]int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n := map[string]int{}
	for _, source := range r.names {
		n[source] = 0
	}
	for name := range r.tools {
		n[r.tools[name].Source]++
	}
	return n
}

// ListOf returns the tools that sessions with a set of tools may use, sorted by name; for no
// choice, those of the gateway's own set.
func (r *Registry) ListOf(set toolset.Set) []Tool {
	if set == "" {
		set = r.policy.Tools("")
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
	return r.policy.Tools(channel)
}

// inSet reports whether sessions with the set may use the tool. By tool_search and tool_call they
// reach the others of the set only.
func inSet(set toolset.Set, name string) bool {
	return name == SearchName || name == CallName || set.Has(name)
}

// whyMissing returns why there is no tool with a name for a channel's session, as a sentence; empty
// if no reason is known.
func (r *Registry) whyMissing(name string, channel core.ChannelKey) string {
	if !inSet(r.setOf(channel), name) {
		return ""
	}
	for _, source := range r.late {
		if why := source.WhyMissing(name); why != "" {
			return why
		}
	}
	return ""
}

// Unknown returns the ErrUnknown of a call of a tool that a channel's session does not have, with the
// reason if there is one.
func (r *Registry) Unknown(name string, channel core.ChannelKey) error {
	if why := r.whyMissing(name, channel); why != "" {
		return fmt.Errorf("%w: %.120q. %s", ErrUnknown, name, why)
	}
	return fmt.Errorf("%w: %.120q", ErrUnknown, name)
}

// Wait blocks until the tool with a name is known, or all tools are; without a name, until all are.
// The error says why they will not be, or is the cause of ctx.
func (r *Registry) Wait(ctx context.Context, name string) error {
	var errs []error
	for _, source := range r.late {
		err := source.Await(ctx, name)
		if _, known := r.Find(name); known {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// find is Find for a caller's channel. It waits for an unknown tool while sources may still have it.
func (r *Registry) find(ctx context.Context, name string, channel core.ChannelKey) (t Tool, ok bool, err error) {
	if !inSet(r.setOf(channel), name) {
		return t, false, nil
	}
	if t, ok = r.Find(name); ok {
		return t, true, nil
	}
	err = r.Wait(ctx, name)
	t, ok = r.Find(name)
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
	return r.calls.once(ctx, &t, c, func(c Call) (Result, error) { return r.run(ctx, &t, c) })
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
