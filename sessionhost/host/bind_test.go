package host

import (
	"testing"

	"bareclaw/sessionhost/protocol"
)

// TestSpareObeysTheNewestDaemon has a bind frame arrive late: its daemon is not the
// spare's any more.
func TestSpareObeysTheNewestDaemon(t *testing.T) {
	t.Parallel()
	h := &host{daemon: &connection{}, exited: make(chan struct{})}
	h.registration = &registration{place: protocol.Place{Channel: protocol.SpareChannel(1)}}
	if err := h.rebind(&connection{}, protocol.Place{Channel: "c"}); err == nil || !h.registration.isSpare() {
		t.Errorf("the spare obeyed an earlier daemon (%v)", err)
	}
}
