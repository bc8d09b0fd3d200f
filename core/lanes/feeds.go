package lanes

import (
	"context"
	"io"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// SaveFeeds returns the data of [Manager.Resume] for the next process, or nil without data.
// Call SaveFeeds after Detach. The snapshot is valid for a single process, and for a short
// time.
func (m *Manager) SaveFeeds() (*feed.Snapshot, error) {
	return m.feeds.Save(m.o.Now(), m.tickets.unresolved())
}

// RestoreFeeds loads the feeds saved by an earlier process, and must precede Recover. Update
// numbers continue after the saved numbers. Outdated data is ignored.
//
// The updates are read only when a subscriber resumes a channel with unseen updates: open is
// then called once, and may block until the earlier process has written the updates.
func (m *Manager) RestoreFeeds(index []byte, open func() (*io.SectionReader, error)) error {
	return m.feeds.Restore(index, m.o.Now(), m.o.Log, open)
}

// publishUnpublished publishes outcomes recorded, but not published, by an earlier process.
// Outcomes of open messages are published later by the lanes.
func (m *Manager) publishUnpublished(ctx context.Context, open []core.Message) {
	waits := make(map[core.MessageID]struct{}, len(open))
	for i := range open {
		waits[open[i].ID] = struct{}{}
	}
	for key, ids := range m.feeds.Unpublished() {
		for _, id := range ids {
			if _, ok := waits[id]; ok {
				continue
			}
			if msg, err := m.o.Ledger.Message(ctx, id); err == nil && msg.State.Final() {
				m.feeds.PublishUnpublished(key, &msg)
			}
		}
	}
}

// unresolved returns the messages with an unresolved ticket, by channel.
func (d *ticketIndex) unresolved() map[core.ChannelKey][]core.MessageID {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[core.ChannelKey][]core.MessageID{}
	for id, t := range d.open {
		select {
		case <-t.Done():
		default:
			all[t.Message.Channel] = append(all[t.Message.Channel], id)
		}
	}
	return all
}
