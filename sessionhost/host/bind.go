package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"bareclaw/sessionhost/protocol"
)

// bind gives a spare to a channel, whose lock the daemon holds meanwhile. The entry in the
// log tells the daemon that all later entries belong to the channel. After an error the
// daemon ends the host.
func (h *host) bind(c *socket, payload []byte) error {
	var to protocol.Place
	if err := json.Unmarshal(payload, &to); err != nil {
		return fmt.Errorf("decode bind frame: %w", err)
	}
	if err := h.rebind(c, to); err != nil {
		return fmt.Errorf("bind to channel %q: %w", to.Channel, err)
	}
	h.tools.reserve()
	h.log.Info("spare bound", "channel", to.Channel)
	h.appendOwn(protocol.Entry{Bound: to.Channel})
	return nil
}

// rebind holds the mutex throughout: a connecting daemon finds the host either in the old
// place or in the new one.
func (h *host) rebind(c *socket, to protocol.Place) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.daemon.socket != c {
		return errors.New("a newer daemon has come")
	}
	if _, spare := protocol.SpareSlot(h.place.Load().Channel); !spare {
		return errors.New("the host has a channel")
	}
	if h.idle.closing {
		return errors.New("claude is ending")
	}
	select {
	case <-h.exited:
		return errors.New("claude has ended")
	default:
		return h.move(*h.place.Load(), to)
	}
}

// move renames the host's files. At each moment a record names the host. The old record
// goes last: while it exists, a daemon that starts ends the host.
func (h *host) move(from, to protocol.Place) error {
	// A renamed lock file stays locked.
	if err := os.Rename(from.LockPath, to.LockPath); err != nil {
		return fmt.Errorf("move the lock: %w", err)
	}
	if err := os.Rename(from.Socket, to.Socket); err != nil {
		return fmt.Errorf("move the socket: %w", err)
	}
	rec := h.registration.record
	rec.Channel, rec.Socket = to.Channel, to.Socket
	if err := rec.Write(to.RecordPath); err != nil {
		return err
	}
	h.registration.record = rec
	h.place.Store(&to)
	_ = os.Rename(from.LogPath, to.LogPath) // after a failure later lines go to the old file
	if err := os.Remove(from.RecordPath); err != nil {
		return fmt.Errorf("remove host record: %w", err)
	}
	return nil
}
