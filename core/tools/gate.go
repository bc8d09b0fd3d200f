package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"bareclaw/core"
	"bareclaw/internal/guard"
	"bareclaw/internal/toolset"
)

// A Gate has people decide whether a call may begin.
type Gate interface {
	// AskCall returns what people have decided. It blocks until then. The error is core.ErrCannotAsk if
	// nobody can be asked, core.ErrClosed, or the cause of ctx.
	AskCall(ctx context.Context, r core.CallRequest) (core.Approval, error)
}

// noGate asks nobody.
type noGate struct{}

// AskCall returns core.ErrCannotAsk.
func (noGate) AskCall(context.Context, core.CallRequest) (core.Approval, error) {
	return core.Approval{}, core.ErrCannotAsk
}

// An Ask says whether a person must allow each call of a tool.
type Ask struct {
	Needed bool
	Why    string // for the person, in a sentence; empty: the tool is not allowed yet
	// Always reports whether a person may allow the tool for ever on a channel.
	Always bool
}

// A question is what people decide about a call, and what is said if nobody can be asked.
type question struct {
	why     string
	always  bool
	refusal error
}

// admit returns nil if a call may begin: at once, or after a person has allowed it. A refusal is an
// error for the model. The wait counts neither against the time of the tool nor against the time in which
// a call must begin.
func (r *Registry) admit(ctx context.Context, t *Tool, c *Call) error {
	q, mustAsk, err := r.questionOf(ctx, t, c)
	if err != nil || !mustAsk || r.calls.hasBegun(ctx, c) { // the record says what becomes of a call that has begun
		return err
	}
	approval, err := r.ask(ctx, t, c, q)
	switch {
	case errors.Is(err, core.ErrCannotAsk):
		return q.refusal
	case err != nil:
		return err
	case approval.State == core.ApprovalAllowed:
		return r.allowed(ctx, t, c, &approval)
	}
	return fmt.Errorf("%s was not carried out: %s", t.Name, refusalOf(&approval))
}

// questionOf returns what people must decide before a call, if anything. The error says why the call
// cannot be carried out at all.
func (r *Registry) questionOf(ctx context.Context, t *Tool, c *Call) (q question, mustAsk bool, err error) {
	var reach *reachError
	err = guard.Do(r.log, "looking what a tool reaches", func() error { return r.permit(ctx, t, *c) }, "tool", t.Name)
	if errors.As(err, &reach) {
		return question{why: reach.why, refusal: err}, true, nil
	}
	if err != nil || t.Asks == nil {
		return q, false, err
	}
	ask := t.Asks()
	if !ask.Needed || r.policy.Mode(c.Channel) == asksNever || ask.Always && r.policy.HasRule(c.Channel, toolset.Prefix+t.Name) {
		return q, false, nil
	}
	return question{
		why:    ask.Why,
		always: ask.Always,
		refusal: fmt.Errorf("%s is refused: a person must allow it, and nobody can be asked now. People are asked in chats, "+
			"and about other calls with BARECLAW_APPROVALS=ask, unless the permission mode is %s", t.Name, refusesAll),
	}, true, nil
}

// allowed lets a call go on as a person has allowed it, who may have changed the arguments.
func (r *Registry) allowed(ctx context.Context, t *Tool, c *Call, a *core.Approval) error {
	if a.DecidedAt.After(c.At) && !c.At.IsZero() {
		c.At = a.DecidedAt
	}
	if bytes.Equal(c.Args, a.Input) {
		return nil
	}
	c.Args = a.Input
	c.amended = true
	return r.checkArgs(ctx, t, c)
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
func (r *Registry) ask(ctx context.Context, t *Tool, c *Call, q question) (core.Approval, error) {
	if c.Channel != "" && c.RequestID == "" || r.policy.Mode(c.Channel) == refusesAll {
		return core.Approval{}, core.ErrCannotAsk
	}
	request := core.CallRequest{
		ID:        approvalID(t, c),
		Channel:   c.Channel,
		RequestID: c.RequestID,
		Turn:      c.Turn,
		Tool:      toolset.Prefix + t.Name,
		Input:     c.Args,
		Why:       q.why,
	}
	if q.always && c.Channel != "" {
		request.Suggestion = core.SuggestedRule(request.Tool)
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // ends with the call
		select {
		case <-c.Gone:
			stop(errGone)
		case <-waiting.Done():
		}
	}()
	return r.gate.AskCall(waiting, request)
}

// errGone ends the wait for a person's word.
var errGone = errors.New("the client that called has left")

// The permission modes that concern calls: of agents that may do everything unasked, and of those that
// are refused what they may not do, without a question.
const (
	asksNever  = "bypassPermissions"
	refusesAll = "dontAsk"
)
