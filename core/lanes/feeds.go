package lanes

import (
	"context"
	"io"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// SaveFeeds returns what [Manager.Resume] knows, for the process that comes
// next; nil if that is nothing. It is for one that has detached, and good for one
// process only, and soon.
func (m *Manager) SaveFeeds() (*feed.Snapshot, error) {
	return m.feeds.Save(m.o.Now(), m.tickets.unresolved())
}

// RestoreFeeds takes over what an earlier process has saved, and comes before
// Recover. Numbers go on where they ended. What is too old is left.
//
// The updates are not read before somebody resumes a channel who has not seen them; open
// is then called once, and may block until the earlier process has written them.
func (m *Manager) RestoreFeeds(index []byte, open func() (*io.SectionReader, error)) error {
	return m.feeds.Restore(index, m.o.Now(), m.o.Log, open)
}

// publishUnpublished publishes the outcomes that an earlier process could only write
// down. Those of open messages come by themselves.
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

// untold returns the messages whose outcome nobody was told yet, by channel.
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
