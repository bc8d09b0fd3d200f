package core

import "time"

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

// PendingAt reports whether the approval can still be decided at that time.
func (a *Approval) PendingAt(now time.Time) bool {
	return a.State == ApprovalPending && (a.Kind != ApprovalContinue || now.Before(a.ExpiresAt))
}
