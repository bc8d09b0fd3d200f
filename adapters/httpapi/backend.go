package httpapi

import (
	"context"

	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
	"bareclaw/core/lanes"
	channelsettings "bareclaw/core/settings"
)

// backend is the part of a lanes.Manager called by package httpapi.
type backend interface {
	submitter
	messageReader
	messageWaiter
	messageControl
	feeder
	channelReader
	channelControl
	historyReader
	settingsStore
	approvalDesk
	metrics.Totals
}

// manager makes the components of a lanes.Manager a backend.
type manager struct {
	*lanes.Manager
	*lanes.Lookup
	*lanes.Directory
	*lanes.Decider
	*channelsettings.Cache
}

func backendOf(m *lanes.Manager) backend {
	return manager{m, m.Lookup, m.Directory, m.Decider, m.ChannelSettings}
}

// Submit implements submitter.
func (m manager) Submit(ctx context.Context, s core.Submission) (ticket, error) {
	return newTicket(m.Manager.Submit(ctx, s))
}

// SubmitAndWait implements submitter.
func (m manager) SubmitAndWait(ctx context.Context, s core.Submission, hurry <-chan struct{}) (ticket, error) {
	return newTicket(m.Manager.SubmitAndWait(ctx, s, hurry))
}

// Ticket implements feeder.
func (m manager) Ticket(ctx context.Context, id core.MessageID) (ticket, error) {
	return newTicket(m.Lookup.Ticket(ctx, id))
}

// Subscribe implements feeder.
func (m manager) Subscribe(key core.ChannelKey) subscription {
	return m.Feeds.Subscribe(key)
}

// Resume implements feeder.
func (m manager) Resume(key core.ChannelKey, after string) subscription {
	return m.Feeds.Resume(key, after)
}

// A ticket is a core.Ticket that tests can construct.
type ticket struct {
	message  core.Message // as accepted
	existing bool
	parked   <-chan struct{}
	place    func() core.QueuePosition // valid once parked is closed
	done     <-chan struct{}
	outcome  func() core.Message // valid once done is closed
}

func newTicket(t *core.Ticket, err error) (ticket, error) {
	if err != nil {
		return ticket{}, err
	}
	return ticket{
		message: t.Message, existing: t.Existing, parked: t.Parked(), place: t.QueuePosition, done: t.Done(), outcome: t.Outcome,
	}, nil
}

// A subscription is a *feed.Subscription that tests can make.
type subscription interface {
	C() <-chan struct{}
	Next() (core.Update, bool)
	From() core.UpdateID
	Gap() bool
	Close()
}
