package core

import (
	"context"
	"io"
)

// SaveFeeds returns what [ProcessManager.Resume] knows, for the process that comes
// next; nil if that is nothing. It is for one that has detached, and good for one
// process only, and soon.
func (m *ProcessManager) SaveFeeds() (*SavedFeeds, error) {
	return m.hub.save(m.o.Now(), m.desk.untold())
}

// RestoreFeeds takes over what an earlier process has saved, and comes before
// Recover. Numbers go on where they ended. What is too old is left.
//
// The updates are not read before somebody resumes a channel who has not seen them; open
// is then called once, and may block until the earlier process has written them.
func (m *ProcessManager) RestoreFeeds(index []byte, open func() (*io.SectionReader, error)) error {
	return m.hub.restore(index, m.o.Now(), m.o.Log, open)
}

// publishUnpublished publishes the outcomes that an earlier process could only write
// down. Those of open messages come by themselves.
func (m *ProcessManager) publishUnpublished(ctx context.Context, open []Message) {
	waits := make(map[MessageID]struct{}, len(open))
	for i := range open {
		waits[open[i].ID] = struct{}{}
	}
	for key, ids := range m.hub.unpublished() {
		for _, id := range ids {
			if _, ok := waits[id]; ok {
				continue
			}
			if msg, err := m.o.Ledger.Message(ctx, id); err == nil && msg.State.Final() {
				m.hub.publishLate(key, &msg)
			}
		}
	}
}

// untold returns the messages whose outcome nobody was told yet, by channel.
func (d *desk) untold() map[ChannelKey][]MessageID {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[ChannelKey][]MessageID{}
	for id, t := range d.open {
		select {
		case <-t.done:
		default:
			all[t.Message.Channel] = append(all[t.Message.Channel], id)
		}
	}
	return all
}
