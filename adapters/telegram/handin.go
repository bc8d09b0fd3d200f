package telegram

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"bareclaw/core"
)

// A gate keeps deliveries that are handed in before it is known which were pending:
// of some of them it is told both ways.
type gate struct {
	mu    sync.Mutex
	open  bool
	early []core.Delivery // until it is open
}

// handIn takes a delivery that the core has recorded.
func (a *Adapter) handIn(d core.Delivery) {
	a.gate.mu.Lock()
	defer a.gate.mu.Unlock()
	if !a.gate.open {
		a.gate.early = append(a.gate.early, d)
		return
	}
	a.pass(d)
}

// takePending takes up the deliveries that are pending, and opens the gate.
func (a *Adapter) takePending(ctx context.Context) error {
	pending, err := a.o.Core.PendingDeliveries(ctx, Name)
	if err != nil {
		return fmt.Errorf("telegram: take up deliveries: %w", err)
	}
	a.gate.mu.Lock()
	defer a.gate.mu.Unlock()
	for _, d := range a.gate.early {
		if !slices.ContainsFunc(pending, func(p core.Delivery) bool { return p.ID == d.ID }) {
			pending = append(pending, d)
		}
	}
	for _, d := range pending {
		a.pass(d)
	}
	a.gate.open, a.gate.early = true, nil
	return nil
}

// pass passes a delivery on. An outcome waits until what was said before it is
// queued.
func (a *Adapter) pass(d core.Delivery) {
	a.followers.mu.Lock()
	f := a.followers.of[d.Channel]
	a.followers.mu.Unlock()
	if d.Kind != core.DeliverReply || f == nil || !f.hold(d) {
		a.outbox.add(d)
	}
}
