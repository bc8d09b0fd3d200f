package httpapi

import (
	"context"

	"bareclaw/core"
)

// A gateway is what this package calls of a core.ProcessManager.
type gateway interface {
	Submit(ctx context.Context, s core.Submission) (ticket, error)
	SubmitAndWait(ctx context.Context, s core.Submission, hurry <-chan struct{}) (ticket, error)
	Resubmission(ctx context.Context, id core.MessageID) (core.Submission, core.Message, error)
	Message(ctx context.Context, id core.MessageID) (core.Message, error)
	Ticket(ctx context.Context, id core.MessageID) (ticket, error)
	Wait(ctx context.Context, id core.MessageID) (core.Message, error)
	WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error)
	Cancel(ctx context.Context, id core.MessageID) (core.Message, error)
	Trace(ctx context.Context, id core.MessageID) (core.Trace, error)
	Place(id core.MessageID) core.Place

	Channels(ctx context.Context) ([]core.ChannelStatus, error)
	Channel(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error)
	Messages(ctx context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error)
	Backgrounds(ctx context.Context, key core.ChannelKey, limit int) ([]core.Background, error)
	Interrupt(ctx context.Context, key core.ChannelKey, turn core.TurnID) (core.Interruption, error)
	Reset(ctx context.Context, key core.ChannelKey) error
	Subscribe(key core.ChannelKey) subscription
	Resume(key core.ChannelKey, after string) subscription

	Settings(ctx context.Context, key core.ChannelKey) (core.Settings, error)
	ChangeSettings(ctx context.Context, key core.ChannelKey, model, mode *string) error
	RemoveRule(ctx context.Context, key core.ChannelKey, id string) error

	Approvals(ctx context.Context) ([]core.Approval, error)
	Decide(ctx context.Context, id string, d core.Decision) (core.Approval, error)

	Overview(ctx context.Context) (core.Overview, error)
	Balance(ctx context.Context) (core.Balance, error)
	Stats() core.Stats
}

// A ticket is a core.Ticket; a test can make one.
type ticket struct {
	message  core.Message // as it was accepted
	existing bool
	parked   <-chan struct{}
	place    func() core.Place // valid once parked is closed
	done     <-chan struct{}
	outcome  func() core.Message // valid once done is closed
}

// A subscription is a *core.Subscription.
type subscription interface {
	C() <-chan struct{}
	Next() (core.Update, bool)
	From() core.UpdateID
	Gap() bool
	Close()
}

// managed makes a ProcessManager a gateway.
type managed struct{ *core.ProcessManager }

// Submit implements gateway.
func (m managed) Submit(ctx context.Context, s core.Submission) (ticket, error) {
	return ticketOf(m.ProcessManager.Submit(ctx, s))
}

// SubmitAndWait implements gateway.
func (m managed) SubmitAndWait(ctx context.Context, s core.Submission, hurry <-chan struct{}) (ticket, error) {
	return ticketOf(m.ProcessManager.SubmitAndWait(ctx, s, hurry))
}

// Ticket implements gateway.
func (m managed) Ticket(ctx context.Context, id core.MessageID) (ticket, error) {
	return ticketOf(m.ProcessManager.Ticket(ctx, id))
}

func ticketOf(t *core.Ticket, err error) (ticket, error) {
	if err != nil {
		return ticket{}, err
	}
	return ticket{
		message: t.Message, existing: t.Existing, parked: t.Parked(), place: t.Place, done: t.Done(), outcome: t.Outcome,
	}, nil
}

// Subscribe implements gateway.
func (m managed) Subscribe(key core.ChannelKey) subscription {
	return m.ProcessManager.Subscribe(key)
}

// Resume implements gateway.
func (m managed) Resume(key core.ChannelKey, after string) subscription {
	return m.ProcessManager.Resume(key, after)
}
