package sessionhost

import "testing"

// TestSpareObeysTheNewestDaemon has a bind frame arrive late: its daemon is not the
// spare's any more.
func TestSpareObeysTheNewestDaemon(t *testing.T) {
	t.Parallel()
	h := &host{client: &socket{}, exited: make(chan struct{})}
	h.at.Store(&place{Channel: spareChannel(1)})
	if err := h.rebind(&socket{}, place{Channel: "c"}); err == nil || h.at.Load().Channel == "c" {
		t.Errorf("the spare obeyed an earlier daemon (%v)", err)
	}
}
