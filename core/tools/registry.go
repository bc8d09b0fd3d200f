package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	Sources []Source // of two tools with one name, that of the earlier source is there
	Policy  Policy   // says what sessions may call; nil: all tools
	Asker   Asker    // asks people whether a call may begin; nil: nobody can be asked
	// AskPeople says how to have people asked, as in "set X and answer at Y"; empty: refusals do not say it.
	AskPeople string
	Records   RecordStore   // of the calls of sessions, each of which is carried out at most once; nil: none
	Ended     func(CallEnd) // is called at the end of each call, and must not block; nil: nobody is told
	// Changed is called with an update for each tool that has appeared, changed or gone, in order. It must
	// neither block nor use the registry. Nil: nobody is told. The first tools of the sources are no change.
	Changed func(core.Update)
	// Bags returns the bags that the user has named, each with patterns of names: see CheckBag. It is
	// called by NewRegistry and BagsChanged, and must call neither. Nil: there are none.
	Bags func() map[string][]string
}

// A Registry holds the tools by name. All methods are safe for concurrent use.
type Registry struct {
	log      *slog.Logger
	late     []LateSource
	policy   Policy
	gate     gate
	calls    *callLog
	ended    func(CallEnd)
	onChange func(core.Update) // see Options.Changed
	checks   chan struct{}     // has a token for each check of large arguments at work

	searcher searcher
	bags     bags

	mu      sync.RWMutex // guards the fields below
	catalog catalog
	version int64 // counts the changes
	watches []wait.Signal
}

// NewRegistry returns a registry with the first tools of its sources. The error says which of them is
// unfit, or has the name of another one: only tools that come later may clash.
func NewRegistry(o Options) (*Registry, error) {
	r := &Registry{
		log:      o.Log,
		policy:   o.Policy,
		ended:    o.Ended,
		onChange: o.Changed,
		checks:   make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	if r.policy == nil {
		r.policy = unrestricted{}
	}
	if o.Records != nil {
		r.calls = &callLog{records: o.Records, log: o.Log}
	}
	r.gate = gate{
		log:       o.Log,
		policy:    r.policy,
		asker:     o.Asker,
		askPeople: o.AskPeople,
		calls:     r.calls,
	}
	r.bags.named = o.Bags
	r.bags.read(r.log)
	if o.Asker == nil {
		r.gate.asker = noAsker{}
	}
	for _, source := range o.Sources {
		if late, ok := source.(LateSource); ok {
			r.late = append(r.late, late)
		}
		if err := r.catalog.add(source, source.Tools(r)); err != nil {
			return nil, err
		}
	}
	r.catalog.merge()
	if clashes := r.catalog.clashes; len(clashes) > 0 {
		return nil, errors.New(clashes[0].String())
	}
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
	next := r.catalog.clone()
	for l, all := range lists {
		if err := next.replace(l, all); err != nil {
			return err
		}
	}
	next.merge()
	for _, clash := range next.clashes {
		if !slices.Contains(r.catalog.clashes, clash) {
			r.log.Warn("tool left out", "tool", clash.Tool, "source", clash.Source, "has_the_name", clash.Other, "of", clash.OtherSource)
		}
	}
	before := r.catalog.tools
	r.catalog = next
	r.changed()
	r.tell(before)
	return nil
}

// changed counts a change, and tells of it. The caller holds the lock.
func (r *Registry) changed() {
	r.version++
	for _, w := range r.watches {
		w.Send()
	}
}

// Clashes returns the tools that are left out now because of their names.
func (r *Registry) Clashes() []Clash {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.catalog.clashes)
}

// Watch returns a signal that is sent after each change.
func (r *Registry) Watch() wait.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := wait.NewSignal()
	r.watches = append(r.watches, w)
	return w
}

// Unwatch ends what Watch has begun.
func (r *Registry) Unwatch(w wait.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches = slices.DeleteFunc(r.watches, func(other wait.Signal) bool { return other == w })
}

// Version returns a number that is another one after each change.
func (r *Registry) Version() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.version
}

// List returns the tools of a view, sorted by name.
func (r *Registry) List(v View) []Tool {
	known, _ := r.snapshot() // without the lock: a look at all patterns of a bag takes time
	var all []Tool
	for _, t := range known {
		if v.Has(&t) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Count returns the number of tools by the name of their source, for all sources of the registry.
func (r *Registry) Count() map[string]int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.catalog.count()
}

// View returns what a channel's session sees now; for "", what that of a channel without a choice of its
// own sees.
func (r *Registry) View(channel core.ChannelKey) View { return r.policy.View(channel) }

// Named returns the view with a name, which is that of a bag or the set of the view's tools; for "", the
// view of a session without a choice of its own. A bag that there is not has no tools.
func (r *Registry) Named(view string) View {
	if view == "" {
		return r.View("")
	}
	if bag, ok := strings.CutPrefix(view, bagPrefix); ok {
		return r.bagView(bag)
	}
	return ViewOf(toolset.Set(view))
}

// Session returns the caller that a channel's session is, in a turn and at a depth; see Caller.
func (r *Registry) Session(channel core.ChannelKey, session string, turn core.TurnID, depth int) Caller {
	return Caller{
		Channel: channel,
		Session: session,
		Turn:    turn,
		Depth:   depth,
		View:    r.View(channel),
	}
}

// whyMissing returns why a view has no tool with a name, as a sentence; empty if no reason is known.
func (r *Registry) whyMissing(name string, v View) string {
	if !v.MayHave(name) {
		return ""
	}
	for _, source := range r.late {
		if why := source.WhyMissing(name); why != "" {
			return why
		}
	}
	return ""
}

// Unknown returns the ErrUnknown of a call of a tool that a view does not have, with the reason if there
// is one.
func (r *Registry) Unknown(name string, v View) error {
	if why := r.whyMissing(name, v); why != "" {
		return fmt.Errorf("%w: %.120q. %s", ErrUnknown, name, why)
	}
	return fmt.Errorf("%w: %.120q", ErrUnknown, name)
}

// Wait blocks until the tool with a name is known, or all tools are; without a name, until all are.
// The error says why they will not be, or is the cause of ctx.
func (r *Registry) Wait(ctx context.Context, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(r.late))
	for _, source := range r.late {
		go func() { ended <- source.Await(ctx, name) }() // ends with ctx
	}
	var errs []error
	for range r.late {
		err := <-ended
		if _, known := r.Find(name); known {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// find returns the tool with a name that a view has. It waits for an unknown tool while sources may
// still have it.
func (r *Registry) find(ctx context.Context, name string, v View) (t Tool, ok bool, err error) {
	if !v.MayHave(name) {
		return t, false, nil
	}
	if t, ok = r.Find(name); !ok {
		err = r.Wait(ctx, name)
		t, ok = r.Find(name)
	}
	return t, ok && v.Has(&t), err
}

// Find returns the tool with a name.
func (r *Registry) Find(name string) (Tool, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.catalog.tools[name]
	return t, ok
}

// Call carries out a call and logs the call. A call of a session that is on record is not
// carried out again. A fault of the tool is a result with IsError, and each result has an Outcome. The error is ErrUnknown, the
// cause of ctx, or core.ErrClosed.
func (r *Registry) Call(ctx context.Context, name string, c Call) (result Result, err error) {
	t, ok, err := r.find(ctx, name, c.View)
	switch {
	case errors.Is(err, core.ErrClosed):
		return Result{}, NotBegun(name, err)
	case ctx.Err() != nil && !ok:
		return Result{}, context.Cause(ctx)
	case err != nil:
		return unbegun("%.120s is not known yet: %s", name, err), nil
	case !ok:
		return Result{}, r.Unknown(name, c.View)
	}
	began := time.Now()
	defer func() { err = cutOf(&t, err) }()
	defer func() {
		result.Outcome = outcomeOf(&result, err)
		r.end(&t, c.Channel, time.Since(began), result.Outcome)
	}()
	if err := r.checkArgs(ctx, &t, &c); err != nil {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		return unbegun("%s", err), nil
	}
	err = r.gate.admit(ctx, &t, &c)
	if err == nil && c.amended {
		err = r.checkArgs(ctx, &t, &c)
	}
	began = time.Now() // a person's time is not the tool's
	if err != nil {
		switch {
		case errors.As(err, new(*CutError)):
			return Result{}, err
		case errors.Is(err, core.ErrClosed):
			return Result{}, ErrNotBegun
		case ctx.Err() != nil:
			return Result{}, context.Cause(ctx)
		}
		return unbegun("%s", err), nil
	}
	if c.Answered == nil { // else set by the call of tool_call
		c.Answered = ctx.Done()
	}
	return r.calls.once(ctx, &t, c, func(c Call) (Result, error) { return r.run(ctx, &t, c) })
}

// run carries out a call within the time of the tool.
func (r *Registry) run(ctx context.Context, t *Tool, c Call) (Result, error) {
	limit := cmp.Or(t.Timeout, DefaultTimeout)
	late := fmt.Errorf("%s did not end within %s", t.Name, limit)
	bounded := ctx
	if limit != unlimited {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
	}
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

// handle calls the tool. A panic is an error: a fault of one tool must not end the daemon.
func (r *Registry) handle(ctx context.Context, t *Tool, c Call) (result Result, err error) {
	err = guard.Do(r.log, "running a tool", func() (err error) {
		result, err = t.Handle(ctx, c)
		return err
	}, "tool", t.Name)
	if errors.Is(err, guard.ErrPanic) {
		err = fmt.Errorf("%s failed by an error of the gateway, which its log describes", t.Name)
	}
	return result, err
}
