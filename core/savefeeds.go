package core

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// savedVersion is raised when a saved feed changes its meaning.
const savedVersion = 1

// savedFeeds is what one process leaves of its feeds to the next.
type savedFeeds struct {
	Version int
	At      time.Time
	Feeds   map[ChannelKey]savedFeed
}

type savedFeed struct {
	ID      uint64
	Last    uint64
	Floor   floor
	Owed    []MessageID // accepted here, their outcome not published
	Updates []savedUpdate
}

// A savedUpdate keeps the agent's line as bytes: as JSON it would be formatted anew.
type savedUpdate struct {
	Update
	Raw []byte
}

// SaveFeeds returns what [ProcessManager.Resume] knows, for the process that comes
// next; nil if that is nothing. It is for one that has detached, and good for one
// process only, and soon.
func (m *ProcessManager) SaveFeeds() ([]byte, error) {
	all := savedFeeds{Version: savedVersion, At: m.o.Now(), Feeds: map[ChannelKey]savedFeed{}}
	owed := m.desk.untold()
	m.hub.mu.RLock()
	feeds := maps.Clone(m.hub.feeds)
	m.hub.mu.RUnlock()
	if len(feeds) == 0 {
		return nil, nil
	}
	for key, f := range feeds {
		all.Feeds[key] = f.save(owed[key])
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // what a tool is to be called with stays as it is
	if err := enc.Encode(all); err != nil {
		return nil, fmt.Errorf("save feeds: %w", err)
	}
	return b.Bytes(), nil
}

func (f *feed) save(owed []MessageID) savedFeed {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := savedFeed{ID: f.id, Last: f.last, Floor: f.floor, Owed: owed, Updates: make([]savedUpdate, 0, f.kept.n)}
	for _, u := range f.kept.last(f.kept.n) {
		s.Updates = append(s.Updates, savedUpdate{u, u.Raw})
	}
	return s
}

// RestoreFeeds takes over what an earlier process has saved, and comes before
// Recover. Numbers go on where they ended, and outcomes are published that the
// earlier process could only write down. What is too old is left.
func (m *ProcessManager) RestoreFeeds(ctx context.Context, saved []byte) error {
	var all savedFeeds
	if err := json.Unmarshal(saved, &all); err != nil {
		return fmt.Errorf("read saved feeds: %w", err)
	}
	if all.Version != savedVersion {
		return fmt.Errorf("read saved feeds: they are of version %d, want %d", all.Version, savedVersion)
	}
	if age := m.o.Now().Sub(all.At); age < -keptFor || age > keptFor { // also by a clock that was set
		return nil
	}
	for key, s := range all.Feeds {
		if s.ID == 0 || uint64(len(s.Updates)) > s.Last {
			return fmt.Errorf("read saved feeds: that of channel %q has the id %d and %d of %d updates", key, s.ID, len(s.Updates), s.Last)
		}
		f := s.restore()
		for _, id := range s.Owed {
			if msg, err := m.o.Ledger.Message(ctx, id); err == nil && msg.State.Final() {
				f.publish(Update{At: msg.EndedAt, Kind: UpdateResult, Turn: msg.Turn, Message: &msg})
				delete(f.owed, id)
			}
		}
		m.hub.adopt(key, f)
	}
	return nil
}

func (s *savedFeed) restore() *feed {
	f := &feed{id: s.ID, floor: s.Floor, leftAt: time.Now(), owed: make(map[MessageID]struct{}, len(s.Owed))}
	f.last = s.Last - uint64(len(s.Updates))
	for _, u := range s.Updates {
		u.Update.Raw = u.Raw
		f.publish(u.Update)
	}
	for _, id := range s.Owed {
		f.owed[id] = struct{}{}
	}
	return f
}

// adopt takes over a feed that nobody listens to yet.
func (h *hub) adopt(key ChannelKey, f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.putLocked(key, f)
	h.dropLater(key, f)
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
