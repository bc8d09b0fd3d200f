package feed

import (
	"bufio"
	"cmp"
	"encoding/binary"
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
const savedVersion = 4

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
		kept += f.earlier.n
	}
	return savedStream{ID: f.id, Last: f.last, Kept: kept, Floor: f.publishedUpTo, Owed: owed}
}

// A savedSection locates the updates of a feed in the output of WriteUpdates. The sections
// are followed by the table of all savedSections as JSON, the table's length, and savedEnd.
// The end marks a complete file: a partial write has none.
type savedSection struct {
	ID     uint64
	Offset int64
	Length int64
}

const (
	savedEnd     = "bcfeeds2"
	savedTrailer = 8 + len(savedEnd)
)

// WriteUpdates writes the updates kept by the feeds. Writing takes time; the updates are not
// needed before a client returns that has not seen them.
func (s *Snapshot) WriteUpdates(to io.Writer) error {
	w := &countingWriter{w: bufio.NewWriterSize(to, 1<<18)}
	table := make(map[core.ChannelKey]savedSection, len(s.streams))
	for key, f := range s.streams {
		s.broker.account(f.load(core.UpdateID{})) // hands on updates left by the process before this one
		begin := w.n
		for _, u := range f.all() {
			if err := writeUpdate(w, u); err != nil {
				return fmt.Errorf("save the updates of channel %q: %w", key, err)
			}
		}
		table[key] = savedSection{f.id, begin, w.n - begin}
	}
	b, err := json.Marshal(table)
	if err == nil {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(b))), savedEnd...)
		_, err = w.Write(b)
	}
	if err = cmp.Or(err, w.w.Flush()); err != nil {
		return fmt.Errorf("save the updates of feeds: %w", err)
	}
	return nil
}

type countingWriter struct {
	w *bufio.Writer
	n int64
}

func (w *countingWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	w.n += int64(n)
	return n, err
}

// writeUpdate writes an update with the agent's line as raw bytes: encoded as JSON, the line
// would be reformatted.
func writeUpdate(w io.Writer, u core.Update) error {
	raw := u.Raw
	u.Raw = nil
	doc, err := json.Marshal(u)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{doc, raw} {
		if _, err := w.Write(binary.AppendUvarint(nil, uint64(len(part)))); err != nil {
			return err
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// cutPart reads a byte sequence preceded by its length.
func cutPart(b []byte) (part, rest []byte, err error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	b = b[used:]
	return b[:n:n], b[n:], nil
}

// readUpdates reads the output of writeUpdate.
func readUpdates(b []byte) (all []core.Update, err error) {
	for len(b) > 0 {
		var u core.Update
		var doc, raw []byte
		if doc, b, err = cutPart(b); err == nil {
			raw, b, err = cutPart(b)
		}
		if err == nil {
			err = json.Unmarshal(doc, &u)
		}
		if err != nil {
			return nil, err
		}
		if u.Raw = nil; len(raw) > 0 {
			u.Raw = raw
		}
		all = append(all, u)
	}
	return all, nil
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
	from := &savedUpdates{open: open, log: log}
	for key, s := range all.Feeds {
		if s.ID == 0 || s.Kept < 0 || uint64(s.Kept) > s.Last {
			return fmt.Errorf("read saved feeds: that of channel %q has the id %d and %d of %d updates", key, s.ID, s.Kept, s.Last)
		}
		h.addRestored(key, s.restore(key, from))
	}
	return nil
}

func (s *savedStream) restore(key core.ChannelKey, from *savedUpdates) *stream {
	f := &stream{id: s.ID, last: s.Last, publishedUpTo: s.Floor, leftAt: time.Now(), unpublished: make(map[core.MessageID]struct{}, len(s.Owed))}
	if s.Kept > 0 {
		f.earlier = &earlier{key: key, last: s.Last, n: s.Kept, from: from}
	}
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
	f := h.stream(key)
	if f == nil {
		return
	}
	h.account(f.publish(core.Update{At: msg.EndedAt, Kind: core.UpdateResult, Turn: msg.Turn, Message: msg}, h.uses.Add(1)))
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.unpublished, msg.ID)
}

// savedUpdates are the updates written by an earlier process for all feeds.
type savedUpdates struct {
	open func() (*io.SectionReader, error)
	log  *slog.Logger

	once  sync.Once // fills in the fields below
	file  *io.SectionReader
	table map[core.ChannelKey]savedSection
	err   error // why the updates are unavailable
}

// An earlier refers to a feed's updates left by an earlier process.
type earlier struct {
	key  core.ChannelKey
	last uint64 // number of the newest update
	n    int    // maximum number of updates
	from *savedUpdates
}

// read returns the updates of a feed, and none if reading fails.
func (e *earlier) read(id uint64) []core.Update {
	all, err := e.from.read(e.key, id)
	if err != nil {
		if !errors.Is(err, os.ErrClosed) { // the updates are too old
			e.from.log.Warn("updates of the earlier process are lost", "channel", string(e.key), "err", err)
		}
		return nil
	}
	return all[max(0, len(all)-e.n):]
}

func (s *savedUpdates) read(key core.ChannelKey, id uint64) ([]core.Update, error) {
	s.once.Do(func() { s.err = s.readTable() })
	if s.err != nil {
		return nil, s.err
	}
	at, ok := s.table[key]
	if !ok || at.ID != id {
		return nil, errors.New("there are none of this feed")
	}
	b := make([]byte, at.Length)
	if _, err := s.file.ReadAt(b, at.Offset); err != nil {
		return nil, err
	}
	return readUpdates(b)
}

func (s *savedUpdates) readTable() error {
	file, err := s.open()
	if err != nil {
		return err
	}
	end := make([]byte, savedTrailer)
	if _, err := file.ReadAt(end, file.Size()-int64(len(end))); err != nil || string(end[8:]) != savedEnd {
		return errors.New("the earlier process ended before it had written them")
	}
	n := binary.BigEndian.Uint64(end)
	if n > uint64(file.Size()) {
		return errors.New("their table is damaged")
	}
	b := make([]byte, n)
	if _, err := file.ReadAt(b, file.Size()-int64(len(end))-int64(n)); err != nil {
		return fmt.Errorf("read their table: %w", err)
	}
	if err := json.Unmarshal(b, &s.table); err != nil {
		return fmt.Errorf("read their table: %w", err)
	}
	for key, at := range s.table {
		if at.Offset < 0 || at.Length < 0 || at.Length > file.Size() || at.Offset > file.Size()-at.Length {
			return fmt.Errorf("their table is damaged: channel %q is at %d", key, at.Offset)
		}
	}
	s.file = file
	return nil
}

// addRestored adds a stream without subscribers, to be dropped after keepFor.
func (h *Broker) addRestored(key core.ChannelKey, f *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.putLocked(key, f)
	h.dropLater(key, f)
}
