package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"bareclaw/core"
	"bareclaw/internal/guard"
	"bareclaw/internal/toolset"
)

// An Asker has people decide whether a call may begin.
type Asker interface {
	// AskCall returns what people have decided. It blocks until then. The error is core.ErrCannotAsk if
	// nobody can be asked, core.ErrClosed, or the cause of ctx.
	AskCall(ctx context.Context, r core.CallRequest) (core.Approval, error)
}

// noAsker asks nobody.
type noAsker struct{}

// AskCall returns core.ErrCannotAsk.
func (noAsker) AskCall(context.Context, core.CallRequest) (core.Approval, error) {
	return core.Approval{}, core.ErrCannotAsk
}

// A gate is where a call waits for a person's word, if it needs one.
type gate struct {
	log       *slog.Logger
	policy    Policy
	asker     Asker
	askPeople string // as in Options
	calls     *callLog
}

// An Ask says whether a person must allow each call of a tool.
type Ask struct {
	Needed bool
	Why    string // for the person, in a sentence; empty: the tool is not allowed yet
	// Always reports whether a person may allow the tool for ever on a channel.
	Always bool
	// RunUnasked says how a person has the tool run unasked, as in "set X"; empty: refusals do not say it.
	RunUnasked string
	// Allowed is called when a person has allowed a call for this reason; nil: nobody is told.
	Allowed func(context.Context)
	// Refused reports whether calls that a person must allow are refused on the channel, because nobody is asked.
	// AskOf sets it.
	Refused bool
}

// A question is what people decide about a call, and what is said if nobody can be asked.
type question struct {
	ask     Ask
	refusal error
}

// admit returns nil if a call may begin: at once, or after a person has allowed it. A refusal is an
// error for the model. The wait counts neither against the time of the tool nor against the time in which
// a call must begin. A person may have changed the arguments, which are then amended and to be checked anew.
func (g *gate) admit(ctx context.Context, t *Tool, c *Call) error {
	q, mustAsk, err := g.questionOf(ctx, t, c)
	if err != nil || !mustAsk || g.calls.hasBegun(ctx, c) { // the record says what becomes of a call that has begun
		return err
	}
	approval, err := g.ask(ctx, t, c, q)
	switch {
	case errors.Is(err, core.ErrCannotAsk):
		return g.refuse(c, &q)
	case errors.Is(err, core.ErrClosed):
		return &CutError{
			Tool:  t.Name,
			Again: true,
			Asked: true,
			cause: ErrNotBegun,
		}
	case err != nil:
		return err
	case approval.State == core.ApprovalAllowed:
		c.allow(&approval)
		if q.ask.Allowed != nil {
			q.ask.Allowed(ctx)
		}
		return nil
	}
	return fmt.Errorf("%s was not carried out: %s", t.Name, refusalOf(&approval))
}

// questionOf returns what people must decide before a call, if anything. The error says why the call
// cannot be carried out at all.
func (g *gate) questionOf(ctx context.Context, t *Tool, c *Call) (q question, mustAsk bool, err error) {
	var reach *reachError
	err = guard.Do(g.log, "looking what a tool reaches", func() error { return permit(ctx, g.policy, t, *c) }, "tool", t.Name)
	if errors.As(err, &reach) {
		return question{Ask{Why: reach.why}, err}, true, nil
	}
	if err != nil {
		return q, false, err
	}
	ask := g.askOf(c.Channel, t)
	if !ask.Needed {
		return q, false, nil
	}
	refusal := fmt.Errorf("%s is refused: a person must allow it, and nobody can be asked here", t.Name)
	return question{ask, refusal}, true, nil
}

// refuse returns the refusal of a call about which nobody can be asked, with what people can do.
func (g *gate) refuse(c *Call, q *question) error {
	ways := []string{"call it from a chat whose people are asked"}
	if mode := g.policy.Mode(c.Channel); core.RefusesUnasked(mode) {
		ways = []string{"choose another permission mode than " + mode + ", in which nobody is asked"}
	} else if g.askPeople != "" {
		ways = append(ways, g.askPeople)
	}
	if q.ask.RunUnasked != "" {
		ways = append(ways, q.ask.RunUnasked)
	}
	return fmt.Errorf("%w. What a person can do: %s", q.refusal, strings.Join(ways, "; or "))
}

// AskOf returns whether a person must allow each call of a tool on a channel now. What a call reaches may
// be another reason to ask.
func (r *Registry) AskOf(channel core.ChannelKey, t *Tool) Ask { return r.gate.askOf(channel, t) }

// askOf is AskOf.
func (g *gate) askOf(channel core.ChannelKey, t *Tool) Ask {
	mode := g.policy.Mode(channel)
	unasked := Ask{Refused: core.RefusesUnasked(mode)}
	if t.Asks == nil {
		return unasked
	}
	ask := t.Asks()
	if !ask.Needed || core.AsksNever(mode) || ask.Always && g.policy.HasRule(channel, toolset.Prefix+t.Name) {
		return unasked
	}
	ask.Refused = unasked.Refused
	return ask
}

// allow makes the call what a person has allowed.
func (c *Call) allow(a *core.Approval) {
	if a.DecidedAt.After(c.At) && !c.At.IsZero() {
		c.At = a.DecidedAt
	}
	if !bytes.Equal(c.Args, a.Input) {
		c.Args = a.Input
		c.amended = true
	}
}

// refusalOf says in a sentence why people have not allowed a call.
func refusalOf(a *core.Approval) string {
	switch {
	case a.State == core.ApprovalDenied && a.Reason != "":
		return "a person has refused it and says: " + a.Reason
	case a.State == core.ApprovalDenied:
		return "a person has refused it"
	case a.State == core.ApprovalExpired:
		return "nobody has allowed it in time"
	}
	return "the turn ended before anybody had allowed it"
}

// callNamespace is that of the ids of approvals of calls, which follow from the calls.
var callNamespace = uuid.MustParse("6f1f3e0c-5a0a-4c3b-9f5e-0d6a51b3a3c1")

// approvalID returns the id of the approval of a call: that of a session's call is the same whenever the
// call is asked about, and another one for another tool or other arguments.
func approvalID(t *Tool, c *Call) string {
	if c.Channel == "" {
		return uuid.NewString()
	}
	call := fmt.Appendf(nil, "%q %q %q %q ", c.Channel, c.RequestID, c.ID, t.Name)
	return uuid.NewSHA1(callNamespace, append(call, c.Args...)).String()
}

// ask has people decide about a call.
func (g *gate) ask(ctx context.Context, t *Tool, c *Call, q question) (core.Approval, error) {
	if c.Channel != "" && c.RequestID == "" || core.RefusesUnasked(g.policy.Mode(c.Channel)) {
		return core.Approval{}, core.ErrCannotAsk
	}
	request := core.CallRequest{
		ID:        approvalID(t, c),
		Channel:   c.Channel,
		RequestID: c.RequestID,
		Turn:      c.Turn,
		Tool:      toolset.Prefix + t.Name,
		Input:     c.Args,
		Why:       q.ask.Why,
	}
	if c.Asked != nil {
		request.Asked = func() { c.Asked(request.ID) }
	}
	if q.ask.Always && c.Channel != "" {
		request.Suggestion = core.SuggestedRule(request.Tool)
	}
	if c.Gone == nil {
		return g.asker.AskCall(ctx, request)
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // ends with waiting
		select {
		case <-c.Gone:
			stop(errGone)
		case <-waiting.Done():
		}
	}()
	return g.asker.AskCall(waiting, request)
}

// errGone ends the wait for a person's word.
var errGone = errors.New("the client that called has left")
