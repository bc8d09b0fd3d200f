package tools

import (
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

// admit returns nil if a call may begin: at once, or after a person has allowed it. A refusal is an
// error for the model. The wait counts neither against the time of the tool nor against the time in which
// a call must begin.
func (r *Registry) admit(ctx context.Context, t *Tool, c *Call) error {
	var reach *reachError
	err := guard.Do(r.log, "looking what a tool reaches", func() error { return r.permit(ctx, t, *c) }, "tool", t.Name)
	if !errors.As(err, &reach) {
		return err
	}
	if r.calls.hasBegun(ctx, c) {
		return nil // the record says what becomes of it
	}
	approval, askErr := r.ask(ctx, t, c, reach.why)
	switch {
	case errors.Is(askErr, core.ErrCannotAsk):
		return err
	case askErr != nil:
		return askErr
	case approval.State == core.ApprovalAllowed:
		return r.allowed(ctx, t, c, &approval)
	}
	return fmt.Errorf("%s was not carried out: %s", t.Name, refusalOf(&approval))
}

// allowed lets a call go on as a person has allowed it, who may have changed the arguments.
func (r *Registry) allowed(ctx context.Context, t *Tool, c *Call, a *core.Approval) error {
	if a.DecidedAt.After(c.At) && !c.At.IsZero() {
		c.At = a.DecidedAt
	}
	c.Args = a.Input
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

// ask has people decide about a call of a session. Nobody can be asked about calls of others yet.
func (r *Registry) ask(ctx context.Context, t *Tool, c *Call, why string) (core.Approval, error) {
	if c.Channel == "" || c.RequestID == "" || r.policy.Mode(c.Channel) == neverAsks {
		return core.Approval{}, core.ErrCannotAsk
	}
	return r.gate.AskCall(ctx, core.CallRequest{
		ID:        uuid.NewSHA1(callNamespace, []byte(c.Session+"/"+c.RequestID)).String(),
		Channel:   c.Channel,
		RequestID: c.RequestID,
		Tool:      toolset.Prefix + t.Name,
		Input:     c.Args,
		Why:       why,
	})
}

// neverAsks is the permission mode of agents that are refused what they may not do, without a question.
const neverAsks = "dontAsk"
