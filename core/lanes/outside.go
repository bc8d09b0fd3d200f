package lanes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bareclaw/core"
)

// An outsideDesk keeps the approvals of calls from outside of sessions, which have no channel: whoever
// reads the list of approvals decides about them. They end with their calls, and with the process. All
// methods are safe for concurrent use.
type outsideDesk struct {
	m *Manager

	mu      sync.Mutex // protects pending
	pending map[string]*outsideApproval
}

type outsideApproval struct {
	approval core.Approval
	decided  chan outsideDecision // gets the decision, once
}

// An outsideDecision is a decision, or why a decision could not be recorded.
type outsideDecision struct {
	approval core.Approval
	err      error
}

func newOutsideDesk(m *Manager) *outsideDesk {
	return &outsideDesk{m: m, pending: map[string]*outsideApproval{}}
}

// ask returns what people have decided about a call. It blocks until then, until the approval expires, or
// until ctx ends.
func (d *outsideDesk) ask(ctx context.Context, r core.CallRequest) (core.Approval, error) {
	if d.m.o.Approvals != ApprovalsAsk {
		return core.Approval{}, core.ErrCannotAsk
	}
	now := d.m.o.Now()
	p := &outsideApproval{
		approval: core.Approval{
			ID:        r.ID,
			Kind:      core.ApprovalCall,
			Tool:      r.Tool,
			Input:     r.Input,
			Why:       r.Why,
			CreatedAt: now,
			ExpiresAt: now.Add(d.m.o.ApprovalTimeout),
			State:     core.ApprovalPending,
		},
		decided: make(chan outsideDecision, 1),
	}
	if !d.add(p) {
		return core.Approval{}, core.ErrCannotAsk
	}
	if err := d.write(context.WithoutCancel(ctx), p.approval); err != nil {
		d.take(r.ID)
		return core.Approval{}, err
	}
	expired := time.NewTimer(d.m.o.ApprovalTimeout)
	defer expired.Stop()
	select {
	case d := <-p.decided:
		return d.approval, d.err
	case <-d.m.ctx.Done():
		if d.take(r.ID) != nil { // the next process ends the approval
			return core.Approval{}, core.ErrClosed
		}
		decided := <-p.decided
		return decided.approval, decided.err
	case <-expired.C:
		return d.end(p, core.ApprovalExpired)
	case <-ctx.Done():
		_, err := d.end(p, core.ApprovalVoid)
		if err == nil {
			err = context.Cause(ctx)
		}
		return core.Approval{}, err
	}
}

// end ends an approval about which nobody has decided. A decision that is being written counts.
func (d *outsideDesk) end(p *outsideApproval, state core.ApprovalState) (core.Approval, error) {
	if d.take(p.approval.ID) == nil {
		decided := <-p.decided
		return decided.approval, decided.err
	}
	ended := p.approval
	ended.State, ended.DecidedAt = state, d.m.o.Now()
	return ended, d.write(context.WithoutCancel(d.m.ctx), ended)
}

// maxOutside bounds how many calls from outside of sessions wait for a person: their clients may be many.
const maxOutside = 100

// add adds an approval that can be decided, unless there are too many.
func (d *outsideDesk) add(p *outsideApproval) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) >= maxOutside {
		return false
	}
	d.pending[p.approval.ID] = p
	return true
}

// take removes an approval from those that can be decided; nil if it is not one of them.
func (d *outsideDesk) take(id string) *outsideApproval {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pending[id]
	delete(d.pending, id)
	return p
}

func (d *outsideDesk) write(ctx context.Context, a core.Approval) error {
	if err := core.WriteAndWait(ctx, d.m.o.Ledger, core.Change{Approvals: []*core.Approval{&a}}, nil); err != nil {
		return fmt.Errorf("record the approval of a call: %w", err)
	}
	return nil
}

// decide answers an approval. The decision is durable before the call hears of it; if it cannot be recorded,
// the call ends. The error is ErrNotPending for an approval that has ended, or that of the ledger.
func (d *outsideDesk) decide(ctx context.Context, a core.Approval, decision core.Decision) (core.Approval, error) {
	p := d.take(a.ID)
	if p == nil {
		return a, fmt.Errorf("approval %s: %w", a.ID, core.ErrNotPending)
	}
	decided := p.approval
	decided.State = core.ApprovalDenied
	decided.Reason = decision.Message
	decided.DecidedAt = d.m.o.Now()
	decided.DecidedBy = decision.By
	if decision.Allow {
		decided.State = core.ApprovalAllowed
		decided.Reason = ""
		if decision.UpdatedInput != nil {
			decided.Input = decision.UpdatedInput
		}
	}
	err := d.write(context.WithoutCancel(ctx), decided)
	p.decided <- outsideDecision{decided, err}
	return decided, err
}

// voidLeft ends approvals that an earlier process has left: their calls ended with it.
func (d *outsideDesk) voidLeft(ctx context.Context, left []*core.Approval) {
	if len(left) == 0 {
		return
	}
	for _, a := range left {
		a.State = core.ApprovalVoid
		a.DecidedAt = d.m.o.Now()
	}
	if err := core.WriteAndWait(ctx, d.m.o.Ledger, core.Change{Approvals: left}, nil); err != nil {
		d.m.o.Log.Warn("approvals of calls not ended", "err", err)
	}
}
