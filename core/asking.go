package core

import "context"

// The deliveries that approvals make where somebody delivers to their channel. Both
// have an ApprovalBody, and come one after the other.
const (
	DeliverApproval       DeliveryKind = "approval"        // somebody is asked
	DeliverApprovalClosed DeliveryKind = "approval_closed" // it is decided, or nobody can decide it any more
)

// An ApprovalBody is the body of the deliveries about an approval.
type ApprovalBody struct {
	ID string `json:"id"` // of the approval
}

// ApprovalDelivery returns the id of the delivery that asks about an approval.
func ApprovalDelivery(approval string) string { return string(DeliverApproval) + ":" + approval }

// deliveriesOf returns what is to be delivered about approvals that are new, or that
// are closed now: nothing where nobody delivers to their channel.
func (m *ProcessManager) deliveriesOf(as ...*Approval) []*Delivery {
	var ds []*Delivery
	for _, a := range as {
		adapter := m.Deliverer(a.Channel)
		body, err := marshal(ApprovalBody{ID: a.ID})
		if adapter == "" || err != nil {
			continue
		}
		kind, at := DeliverApproval, a.CreatedAt
		if a.State != ApprovalPending {
			kind, at = DeliverApprovalClosed, a.DecidedAt
		}
		ds = append(ds, &Delivery{
			ID: string(kind) + ":" + a.ID, Kind: kind, Adapter: adapter, Channel: a.Channel, Message: a.Message, Body: body,
			State: DeliveryPending, CreatedAt: at,
		})
	}
	return ds
}

// saveApproval records an approval that is new or that nobody has decided, with what
// is to be delivered about it.
func (l *lane) saveApproval(a *Approval) {
	c := Change{Approvals: []*Approval{a}, Deliver: l.m.deliveriesOf(a)}
	c.Lazy = len(c.Deliver) == 0 // a host lists what it waits for; but deliveries keep their order, which a lazy change does not
	l.save(c, func() { l.m.handOver(c.Deliver) })
}

// Approval returns an approval as it is now, or ErrNotFound.
func (m *ProcessManager) Approval(ctx context.Context, id string) (Approval, error) {
	a, err := m.o.Ledger.Approval(ctx, id)
	if err == nil && a.State == ApprovalPending && !a.pendingAt(m.o.Now()) {
		a.State = ApprovalExpired
	}
	return a, err
}
