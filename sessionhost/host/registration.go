package host

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"bareclaw/internal/proc"
	"bareclaw/internal/procmark"
	"bareclaw/sessionhost/protocol"
)

// A registration is the host's place with the record on disk, by which daemons find the
// host.
type registration struct {
	log *slog.Logger

	mu      sync.Mutex     // guards the fields below
	place   protocol.Place // changes once, when a spare is bound
	record  protocol.Record
	retry   *time.Timer // of a failed write; else nil
	removed bool
}

func newRegistration(place protocol.Place, log *slog.Logger) *registration {
	r := &registration{log: log, place: place}
	r.record = protocol.Record{Channel: place.Channel, Socket: place.Socket, PID: os.Getpid()}
	r.record.Start, _ = proc.StartTime(r.record.PID)
	r.record.BootID, _ = proc.BootID()
	r.write()
	return r
}

func (r *registration) write() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeLocked()
}

// writeLocked writes the record. A failed write is repeated until it succeeds: without the
// record no daemon finds the host, whose lock keeps the channel from having another one.
func (r *registration) writeLocked() {
	if r.removed {
		return
	}
	err := r.record.Write(r.place.RecordPath)
	switch {
	case err == nil:
	case r.retry == nil:
		r.log.Error("host record not written", "err", err, "retry_in", protocol.RetryInterval)
		r.retry = time.AfterFunc(protocol.RetryInterval, r.write)
	default:
		r.retry.Reset(protocol.RetryInterval)
	}
}

func (r *registration) addClaude(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record.ClaudePID = pid
	r.record.ClaudeStart, _ = proc.StartTime(pid) // claude may be gone already
	r.writeLocked()
}

// remove removes the record and the socket: claude has ended, and no channel gets this host
// any more.
func (r *registration) remove() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = true
	_ = os.Remove(r.place.Socket)
	_ = os.Remove(r.place.RecordPath)
}

func (r *registration) at() protocol.Place {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place
}

func (r *registration) isSpare() bool {
	_, spare := protocol.SpareSlot(r.at().Channel)
	return spare
}

// isLost reports whether no daemon can find the host any more.
func (r *registration) isLost() bool {
	_, err := os.Stat(r.at().RecordPath)
	return errors.Is(err, fs.ErrNotExist)
}

func (r *registration) claudePID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record.ClaudePID
}

func (r *registration) envMark() procmark.Mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return protocol.EnvMarkOf(r.place.RecordPath, r.record.PID, r.record.Start)
}

// move renames the host's files. At each moment a record names the host. The old record
// goes last: while it exists, a daemon that starts ends the host.
func (r *registration) move(to protocol.Place) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := r.place
	// A renamed lock file stays locked.
	if err := os.Rename(from.LockPath, to.LockPath); err != nil {
		return fmt.Errorf("move the lock: %w", err)
	}
	if err := os.Rename(from.Socket, to.Socket); err != nil {
		return fmt.Errorf("move the socket: %w", err)
	}
	rec := r.record
	rec.Channel, rec.Socket = to.Channel, to.Socket
	if err := rec.Write(to.RecordPath); err != nil {
		return err
	}
	r.record, r.place = rec, to
	_ = os.Rename(from.LogPath, to.LogPath) // after a failure later lines go to the old file
	if err := os.Remove(from.RecordPath); err != nil {
		return fmt.Errorf("remove host record: %w", err)
	}
	return nil
}
