package feed

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"bareclaw/core"
)

// savedVersion is raised when the format of a saved feed changes its meaning.
const savedVersion = 5

// savedIndex describes the feeds that a process leaves to its successor, without the
// updates. An index is small enough for the successor to read before serving.
type savedIndex struct {
	Version int
	At      time.Time
	Feeds   map[core.ChannelKey]savedStream
}

type savedStream struct {
	ID    uint64
	Last  uint64
	Kept  int // number of updates available
	Floor hostPosition
	Owed  []core.MessageID // accepted messages with unpublished outcomes
}

// A Snapshot holds the data needed by [Broker.Resume] in the next process.
type Snapshot struct {
	// Index is the input of [Broker.Restore]. The updates are written by WriteUpdates
	// instead.
	Index []byte

	broker  *Broker
	streams map[core.ChannelKey]*stream
}

// Save returns the broker's state for the next process; nil without any streams. unpublished
// are the messages with unpublished outcomes, by channel.
func (h *Broker) Save(now time.Time, unpublished map[core.ChannelKey][]core.MessageID) (*Snapshot, error) {
	h.mu.RLock()
	s := &Snapshot{broker: h, streams: maps.Clone(h.streams)}
	h.mu.RUnlock()
	if len(s.streams) == 0 {
		return nil, nil
	}
	all := savedIndex{Version: savedVersion, At: now, Feeds: make(map[core.ChannelKey]savedStream, len(s.streams))}
	for key, f := range s.streams {
		all.Feeds[key] = f.save(unpublished[key])
	}
	var err error
	if s.Index, err = json.Marshal(all); err != nil {
		return nil, fmt.Errorf("save feeds: %w", err)
	}
	return s, nil
}

func (f *stream) save(owed []core.MessageID) savedStream {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := f.kept.n
	if f.earlierFollowsLocked() {
		kept += f.earlier
	}
	return savedStream{ID: f.id, Last: f.last, Kept: kept, Floor: f.publishedUpTo, Owed: owed}
}

// savedUpdates are the updates of one stream in the output of WriteUpdates. The last document of
// a complete output has Stream 0; a partial write lacks the document.
type savedUpdates struct {
	Stream  uint64
	Updates []savedUpdate
}

// A savedUpdate holds the agent's line as bytes, because JSON encoding would reformat the line.
type savedUpdate struct {
	core.Update

	Raw []byte `json:",omitempty"`
}

// WriteUpdates writes the updates kept by the streams. The write may take time: the next
// process needs the updates only for a returning client that has not seen all of them.
func (s *Snapshot) WriteUpdates(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<18)
	for _, f := range s.streams {
		s.broker.load(f, core.UpdateID{}) // hands on updates left by the process before this one
		if err := writeUpdates(w, f.id, f.all()); err != nil {
			return fmt.Errorf("save the updates of feeds: %w", err)
		}
	}
	if err := cmp.Or(writeUpdates(w, 0, nil), w.Flush()); err != nil {
		return fmt.Errorf("save the updates of feeds: %w", err)
	}
	return nil
}

func writeUpdates(w io.Writer, id uint64, all []core.Update) error {
	saved := savedUpdates{Stream: id, Updates: make([]savedUpdate, len(all))}
	for i, u := range all {
		saved.Updates[i] = savedUpdate{u, u.Raw}
	}
	return json.NewEncoder(w).Encode(saved)
}

func readUpdates(r io.Reader) (map[uint64][]core.Update, error) {
	feeds := map[uint64][]core.Update{}
	for dec := json.NewDecoder(r); ; {
		var saved savedUpdates
		if err := dec.Decode(&saved); err != nil {
			return nil, err
		}
		if saved.Stream == 0 {
			return feeds, nil
		}
		all := make([]core.Update, len(saved.Updates))
		for i, u := range saved.Updates {
			all[i] = u.Update
			all[i].Raw = u.Raw
		}
		feeds[saved.Stream] = all
	}
}

// Restore takes over the state saved by an earlier process. Numbers continue where the
// earlier process ended. Restore ignores an index that is too old, without an error.
//
// The updates themselves are read only when a client resumes a channel without having seen
// all updates. Restore's open is then called once, and may block until the earlier process
// has written the updates.
func (h *Broker) Restore(index []byte, now time.Time, log *slog.Logger, open func() (*io.SectionReader, error)) error {
	var all savedIndex
	if err := json.Unmarshal(index, &all); err != nil {
		return fmt.Errorf("read saved feeds: %w", err)
	}
	if all.Version != savedVersion {
		return fmt.Errorf("read saved feeds: they are of version %d, want %d", all.Version, savedVersion)
	}
	if age := now.Sub(all.At); age < -keepFor || age > keepFor { // includes a changed clock
		return nil
	}
	h.earlier = &earlier{open: open, log: log}
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, s := range all.Feeds {
		if s.ID == 0 || s.Kept < 0 || uint64(s.Kept) > s.Last {
			return fmt.Errorf("read saved feeds: that of channel %q has the id %d and %d of %d updates", key, s.ID, s.Kept, s.Last)
		}
		f := s.restore()
		h.putLocked(key, f)
		h.dropLater(key, f)
	}
	return nil
}

func (s *savedStream) restore() *stream {
	f := &stream{id: s.ID, last: s.Last, publishedUpTo: s.Floor, leftAt: time.Now(), unpublished: make(map[core.MessageID]struct{}, len(s.Owed))}
	f.earlier, f.earlierLast = s.Kept, s.Last
	for _, id := range s.Owed {
		f.unpublished[id] = struct{}{}
	}
	return f
}

// Unpublished returns the messages with outcomes not published by an earlier process, by
// channel.
func (h *Broker) Unpublished() map[core.ChannelKey][]core.MessageID {
	h.mu.RLock()
	defer h.mu.RUnlock()
	all := map[core.ChannelKey][]core.MessageID{}
	for key, f := range h.streams {
		f.mu.Lock()
		if len(f.unpublished) > 0 {
			all[key] = slices.Collect(maps.Keys(f.unpublished))
		}
		f.mu.Unlock()
	}
	return all
}

// PublishUnpublished publishes an outcome that an earlier process recorded without
// publishing. Afterwards IsUnpublished is false for the message.
func (h *Broker) PublishUnpublished(key core.ChannelKey, msg *core.Message) {
	h.Publish(key, core.Update{At: msg.EndedAt, Kind: core.UpdateResult, Turn: msg.Turn, Message: msg})
	h.locked(key, func(f *stream) { delete(f.unpublished, msg.ID) })
}

// An earlier gives access to the updates written by an earlier process.
type earlier struct {
	open func() (*io.SectionReader, error)
	log  *slog.Logger
	once sync.Once // reads the updates
}

// load reads the earlier process's updates of all streams, if stream f needs updates that are
// newer than after. load blocks until the earlier process has written the updates.
func (h *Broker) load(f *stream, after core.UpdateID) {
	if !f.needsEarlier(after) {
		return
	}
	h.earlier.once.Do(func() {
		all, err := h.earlier.read()
		if err != nil && !errors.Is(err, os.ErrClosed) { // closed: the updates are too old
			h.earlier.log.Warn("updates of the earlier process are lost", "err", err)
		}
		h.mu.RLock()
		streams := slices.Collect(maps.Values(h.streams))
		h.mu.RUnlock()
		kept := 0
		for _, f := range streams {
			kept += f.fill(all[f.id])
		}
		h.account(kept) // when all uses are known
	})
}

func (e *earlier) read() (map[uint64][]core.Update, error) {
	file, err := e.open()
	if err != nil {
		return nil, err
	}
	all, err := readUpdates(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("the earlier process ended before writing the updates, or the updates are damaged: %w", err)
	}
	return all, nil
}
