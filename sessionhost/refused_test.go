package sessionhost

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/sessionhost/protocol"
)

// refusesVariable makes the test binary a host that refuses every daemon, and stays.
const refusesVariable = "BARECLAW_TEST_REFUSES"

func refuseAll() {
	l, err := net.FileListener(os.NewFile(protocol.FDListener, "listener"))
	for err == nil {
		var c net.Conn
		if c, err = l.Accept(); err == nil {
			_, err = io.WriteString(c, `{"type":"refused","error":"no"}`+"\n")
		}
	}
	time.Sleep(10 * patience)
}

// TestHostThatRefuses starts hosts that are of no use: none of them is left.
func TestHostThatRefuses(t *testing.T) {
	t.Parallel()
	st := newStation(t, refusesVariable+"=1")
	if s, err := st.hosts().Start(t.Context(), "c", core.Launch{SessionID: newID(t)}); err == nil {
		s.Detach()
		t.Fatal("it was started")
	}
	st.eventually("its lock is free", func() bool {
		lock, err := protocol.LockFile(st.paths().LockPath)
		if err == nil {
			_ = lock.Close()
		}
		return err == nil
	})
}
