package core

import "time"

// The deliveries made for approvals on channels whose adapter delivers. Both have an
// ApprovalBody; DeliverApproval comes first.
const (
	DeliverApproval       DeliveryKind = "approval"        // a person is asked to decide
	DeliverApprovalClosed DeliveryKind = "approval_closed" // the approval is decided, or can no longer be decided
)

// An ApprovalBody is the body of the deliveries about an approval.
type ApprovalBody struct {
	ID string `json:"id"` // of the approval
}

// ApprovalDelivery returns the id of the delivery that asks about an approval.
func ApprovalDelivery(approval string) string { return string(DeliverApproval) + ":" + approval }

// PendingAt reports whether the approval can still be decided at the time now.
func (a *Approval) PendingAt(now time.Time) bool {
	return a.State == ApprovalPending && (a.Kind != ApprovalContinue || now.Before(a.ExpiresAt))
}
