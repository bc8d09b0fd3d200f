package lanes

import (
	"cmp"
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
	p := &outsideApproval{
		approval: r.Approval(),
		decided:  make(chan outsideDecision, 1),
	}
	p.approval.CreatedAt = d.m.o.Now()
	p.approval.ExpiresAt = p.approval.CreatedAt.Add(d.m.o.ApprovalTimeout)
	p.approval.State = core.ApprovalPending
	if !d.add(p) {
		return core.Approval{}, errTooMany
	}
	if err := d.write(context.WithoutCancel(ctx), p.approval); err != nil {
		d.take(r.ID)
		return core.Approval{}, err
	}
	if r.Asked != nil {
		r.Asked()
	}
	expired := time.NewTimer(d.m.o.ApprovalTimeout)
	defer expired.Stop()
	state := core.ApprovalPending // after the end of the process: the next one ends it
	var why error
	select {
	case decided := <-p.decided:
		return decided.approval, decided.err
	case <-d.m.ctx.Done():
		why = core.ErrClosed
	case <-expired.C:
		state = core.ApprovalExpired
	case <-ctx.Done():
		state = core.ApprovalVoid
		why = context.Cause(ctx)
	}
	if d.take(r.ID) == nil { // a decision is being written, and counts
		decided := <-p.decided
		return decided.approval, decided.err
	}
	if state == core.ApprovalPending {
		return core.Approval{}, why
	}
	p.approval.State = state
	p.approval.DecidedAt = d.m.o.Now()
	err := d.write(context.WithoutCancel(ctx), p.approval)
	if err != nil || why != nil {
		return core.Approval{}, cmp.Or(err, why)
	}
	return p.approval, nil
}

// maxOutside bounds how many calls from outside of sessions wait for a person: their clients may be many.
const maxOutside = 100

// errTooMany refuses a call from outside of sessions that would be one too many to wait.
var errTooMany = fmt.Errorf("%d calls wait for a person already; decide about some of them first", maxOutside)

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
	decided := p.approval.Decided(decision, d.m.o.Now())
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
