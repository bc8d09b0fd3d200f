package core

import "context"

// Approval returns an approval as it is now, or ErrNotFound.
func (m *ProcessManager) Approval(ctx context.Context, id string) (Approval, error) {
	a, err := m.o.Ledger.Approval(ctx, id)
	if err == nil && a.State == ApprovalPending && !a.pendingAt(m.o.Now()) {
		a.State = ApprovalExpired
	}
	return a, err
}
