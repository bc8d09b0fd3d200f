package lanes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bareclaw/core"
)

// A Decider takes people's decisions: about tool permissions, and about repeating messages
// without an answer. All methods are safe for concurrent use.
type Decider struct {
	m       *Manager
	outside *outsideDesk
}

// Approval returns the present state of an approval, or ErrNotFound.
func (k *Decider) Approval(ctx context.Context, id string) (core.Approval, error) {
	a, err := k.m.o.Ledger.Approval(ctx, id)
	if err == nil && a.State == core.ApprovalPending && !a.PendingAt(k.m.o.Now()) {
		a.State = core.ApprovalExpired
	}
	return a, err
}

// Approvals returns the pending approvals, oldest first.
func (k *Decider) Approvals(ctx context.Context) ([]core.Approval, error) {
	all, err := k.m.o.Ledger.PendingApprovals(ctx)
	now := k.m.o.Now()
	return slices.DeleteFunc(all, func(a core.Approval) bool { return !a.PendingAt(now) }), err
}

// Decide answers a pending approval. The decision is durable before the agent receives the
// answer. Errors: ErrNotFound, and ErrNotPending together with the approval's present state.
func (k *Decider) Decide(ctx context.Context, id string, d core.Decision) (core.Approval, error) {
	a, err := k.m.o.Ledger.Approval(ctx, id)
	if err != nil {
		return core.Approval{}, err
	}
	switch {
	case a.Kind == core.ApprovalContinue:
		return k.decideContinue(ctx, a, d)
	case a.Channel == "":
		return k.outside.decide(ctx, a, d)
	}
	l, ok := k.m.lanes.find(a.Channel)
	if !ok || a.State != core.ApprovalPending {
		return a, fmt.Errorf("approval %s is %s: %w", id, a.State, core.ErrNotPending)
	}
	now, err := request(ctx, l.channel, func(done func(core.Approval, error)) { l.desk.decide(id, d, done) })
	if errors.Is(err, errRetired) || errors.Is(err, core.ErrNotPending) { // the turn has ended, or another decision came first
		err = fmt.Errorf("approval %s: %w", id, core.ErrNotPending)
		if now, readErr := k.m.o.Ledger.Approval(ctx, id); readErr == nil {
			return now, err
		}
	}
	if now.ID == "" {
		now = a
	}
	return now, err
}

// AskCall asks people whether a call may begin, and returns what they have decided: the approval is
// allowed, denied, expired or void, with a reason. It blocks until then, or until ctx ends because the
// session does not wait any more; the approval is void then. A call that was asked about before finds its
// approval again. The errors are ErrCannotAsk, ErrClosed, the cause of ctx, and those of the ledger.
func (k *Decider) AskCall(ctx context.Context, r core.CallRequest) (core.Approval, error) {
	if r.Channel == "" {
		return k.outside.ask(ctx, r)
	}
	known, err := k.m.o.Ledger.Approval(ctx, r.ID)
	switch {
	case err == nil && known.State != core.ApprovalPending:
		return known, nil
	case err != nil && !errors.Is(err, core.ErrNotFound):
		return core.Approval{}, err
	}
	l, ok := k.m.lanes.find(r.Channel)
	if !ok {
		return core.Approval{}, core.ErrCannotAsk
	}
	a, err := request(ctx, l.channel, func(done func(core.Approval, error)) {
		var f *inflight
		if r.Turn != "" {
			f = l.turns.find(r.Turn)
		}
		if r.Turn != "" && f == nil { // it has ended meanwhile
			done(core.Approval{State: core.ApprovalVoid}, nil)
			return
		}
		l.desk.requestCall(r, f, done)
	})
	switch {
	case k.m.ctx.Err() != nil: // the next process finds the approval
		return core.Approval{}, core.ErrClosed
	case ctx.Err() != nil:
		l.post(func() { l.desk.void(func(a *pendingApproval) bool { return a.approval.RequestID == r.RequestID }) })
		return core.Approval{}, context.Cause(ctx)
	case errors.Is(err, errRetired):
		err = core.ErrCannotAsk
	}
	return a, err
}

// Resubmission returns a submission to retry a failed or cancelled message. The content
// combines all messages of the same turn, and lists the completed work and the calls of the
// gateway's tools if the turn had begun a tool. The caller submits the submission as usual, any number of times: the first is
// accepted, and repeated submissions get the first ticket. Acceptance also decides the
// pending question about continuing the turn, if any. Errors: ErrNotFound, and ErrNotFailed
// together with the message's present state.
func (k *Decider) Resubmission(ctx context.Context, id core.MessageID) (core.Submission, core.Message, error) {
	msg, err := k.m.Lookup.Message(ctx, id)
	if err != nil {
		return core.Submission{}, core.Message{}, err
	}
	if msg.State != core.Failed && msg.State != core.Cancelled {
		return core.Submission{}, msg, fmt.Errorf("message %s is %s: %w", id, msg.State, core.ErrNotFailed)
	}
	turn, members, err := k.turnOf(ctx, msg)
	if err != nil {
		return core.Submission{}, msg, err
	}
	carrier := members[len(members)-1]
	s := core.Submission{
		Channel:   carrier.Channel,
		Adapter:   carrier.Adapter,
		Origin:    carrier.Origin,
		CanAsk:    carrier.CanAsk,
		Deliver:   carrier.Deliver,
		Depth:     carrier.Depth,
		Mode:      core.Collect,
		RetryOf:   carrier.ID,
		SourceKey: "retry:" + string(carrier.ID),
	}
	calls, err := k.callsOf(ctx, turn)
	if err != nil {
		return core.Submission{}, msg, err
	}
	if s.Content, err = core.RetryContent(members, turn, calls); err != nil {
		return core.Submission{}, msg, fmt.Errorf("message %s: %w: %w", id, core.ErrBadContent, err)
	}
	if turn != nil {
		s.Decides, err = k.undecided(ctx, turn.ID)
	}
	return s, msg, err
}

// turnOf returns the turn of a message with all messages sharing the outcome, or nil and the
// message alone if the message never had a turn.
func (k *Decider) turnOf(ctx context.Context, msg core.Message) (*core.Turn, []*core.Message, error) {
	if msg.Turn == "" {
		return nil, []*core.Message{&msg}, nil
	}
	turn, err := k.m.o.Ledger.Turn(ctx, msg.Turn)
	if err != nil {
		return nil, nil, fmt.Errorf("read the turn of message %s: %w", msg.ID, err)
	}
	var members []*core.Message
	for _, id := range turn.Members {
		other, err := k.m.Lookup.Message(ctx, id)
		if err != nil {
			return nil, nil, fmt.Errorf("read the messages of turn %s: %w", turn.ID, err)
		}
		if other.Turn == turn.ID { // else the message went back to the queue, and has another turn
			members = append(members, &other)
		}
	}
	return &turn, members, nil
}

// callsOf returns the turn's calls of the gateway's tools.
func (k *Decider) callsOf(ctx context.Context, turn *core.Turn) ([]core.ToolCall, error) {
	if turn == nil || k.m.tools == nil {
		return nil, nil
	}
	calls, err := k.m.tools.CallsOf(ctx, turn.SessionID, turn.ID)
	if err != nil {
		return nil, fmt.Errorf("read the tool calls of turn %s: %w", turn.ID, err)
	}
	return calls, nil
}

func (k *Decider) undecided(ctx context.Context, turn core.TurnID) (*core.Approval, error) {
	all, err := k.m.o.Ledger.TurnApprovals(ctx, turn)
	if err != nil {
		return nil, fmt.Errorf("read the approvals of turn %s: %w", turn, err)
	}
	for i := range all {
		if all[i].Kind == core.ApprovalContinue && all[i].PendingAt(k.m.o.Now()) {
			return &all[i], nil
		}
	}
	return nil, nil
}

func (k *Decider) decideContinue(ctx context.Context, a core.Approval, d core.Decision) (core.Approval, error) {
	if !a.PendingAt(k.m.o.Now()) {
		if a.State == core.ApprovalPending {
			a.State = core.ApprovalExpired
		}
		return a, fmt.Errorf("approval %s is %s: %w", a.ID, a.State, core.ErrNotPending)
	}
	if !d.Allow {
		a.Reason, a.DecidedBy = d.Message, d.By
		return k.closeContinue(ctx, a, core.ApprovalDenied)
	}
	s, _, err := k.Resubmission(ctx, a.Message)
	if err != nil {
		return a, err
	}
	if s.Decides == nil { // decided by another caller meanwhile
		return a, fmt.Errorf("approval %s: %w", a.ID, core.ErrNotPending)
	}
	s.Decides.DecidedBy = d.By
	if _, err := k.m.Submit(ctx, s); err != nil {
		return a, err
	}
	return k.m.o.Ledger.Approval(ctx, a.ID)
}

// closeContinue records the decision not to continue a turn. The first decision wins.
func (k *Decider) closeContinue(ctx context.Context, a core.Approval, state core.ApprovalState) (core.Approval, error) {
	a.State, a.DecidedAt = state, k.m.o.Now()
	if err := core.WriteAndWait(ctx, k.m.o.Ledger, core.Change{Approvals: []*core.Approval{&a}}, nil); err != nil {
		return a, err
	}
	now, err := k.m.o.Ledger.Approval(ctx, a.ID)
	if err == nil && now.State != state {
		err = fmt.Errorf("approval %s is %s: %w", a.ID, now.State, core.ErrNotPending)
	}
	if err == nil {
		k.m.Feeds.Publish(a.Channel, core.Update{Kind: core.UpdateApprovalClosed, At: a.DecidedAt, Approval: &now, Turn: a.Turn})
	}
	return now, err
}

// voidContinues voids the continue questions of a channel with a forgotten conversation.
func (k *Decider) voidContinues(ctx context.Context, key core.ChannelKey) error {
	pending, err := k.m.o.Ledger.PendingApprovals(ctx)
	if err != nil {
		return fmt.Errorf("read pending approvals: %w", err)
	}
	for _, a := range pending {
		if a.Kind != core.ApprovalContinue || a.Channel != key {
			continue
		}
		if _, err := k.closeContinue(ctx, a, core.ApprovalVoid); err != nil {
			return fmt.Errorf("void approval %s: %w", a.ID, err)
		}
	}
	return nil
}
