package sessionhost

import (
	"os"
	"testing"

	"bareclaw/core"
	"bareclaw/sessionhost/protocol"
)

// TestRecordIsWrittenLater starts a host that cannot write its record, as on a full
// disk. Once it can, a daemon that starts finds it: else its channel had no session
// any more, since the lock is held by somebody of whom nothing is known.
func TestRecordIsWrittenLater(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h := st.hosts()
	full := st.paths().RecordPath + ".tmp"
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	s := st.begin(h, core.Launch{SessionID: newID(t)})
	if got := s.answer("echo one"); got != "one" {
		t.Errorf("answer is %q", got)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	s.Detach()
	st.eventually("the host has a record", func() bool { _, err := protocol.ReadRecord(st.paths().RecordPath); return err == nil })
	if got := st.attach(2).answer("echo two"); got != "two" {
		t.Errorf("answer is %q", got)
	}
}
