package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"bareclaw/sessionhost/protocol"
)

// bind has a spare belong to a channel, whose lock the daemon holds meanwhile. It
// says so in the log, so that whatever the daemon hears after that is said in the
// channel. After an error the daemon ends the host.
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

// rebind holds the mutex all the time: a daemon that greets the host meanwhile is
// to find it in one place or in the other.
func (h *host) rebind(c *socket, to protocol.Place) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != c {
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

// move takes the host's files along. At each moment one of the two records names
// it, and the old one goes when all that a daemon needs is in the new place: as
// long as it is there, a daemon that starts ends the host.
func (h *host) move(from, to protocol.Place) error {
	// The lock stays with its file, whatever that is called.
	if err := os.Rename(from.LockPath, to.LockPath); err != nil {
		return fmt.Errorf("take the lock along: %w", err)
	}
	if err := os.Rename(from.Socket, to.Socket); err != nil {
		return fmt.Errorf("take the socket along: %w", err)
	}
	rec := h.rec
	rec.Channel, rec.Socket = to.Channel, to.Socket
	if err := rec.Write(to.RecordPath); err != nil {
		return err
	}
	h.rec.Channel, h.rec.Socket = to.Channel, to.Socket
	h.place.Store(&to)
	_ = os.Rename(from.LogPath, to.LogPath) // or what it says later is found in the old one
	if err := os.Remove(from.RecordPath); err != nil {
		return fmt.Errorf("remove host record: %w", err)
	}
	return nil
}
