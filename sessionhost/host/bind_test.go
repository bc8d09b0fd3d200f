package host

import (
	"testing"

	"bareclaw/sessionhost/protocol"
)

// TestSpareObeysTheNewestDaemon has a bind frame arrive late: its daemon is not the
// spare's any more.
func TestSpareObeysTheNewestDaemon(t *testing.T) {
	t.Parallel()
	h := &host{daemon: connection{socket: &socket{}}, exited: make(chan struct{})}
	h.place.Store(&protocol.Place{Channel: protocol.SpareChannel(1)})
	if err := h.rebind(&socket{}, protocol.Place{Channel: "c"}); err == nil || h.place.Load().Channel == "c" {
		t.Errorf("the spare obeyed an earlier daemon (%v)", err)
	}
}
