package sessionhost

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/core"
)

// TestHostWithoutFileDescriptors lets a host have no further descriptor when a daemon comes:
// it answers as soon as there is one again.
func TestHostWithoutFileDescriptors(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.until(core.Readied)
	s.Detach()
	pid := st.record().PID
	var was unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: was.Max}, nil); err != nil {
		t.Fatal(err)
	}
	conn, _ := st.dial()
	st.eventually("the host was refused a descriptor", func() bool {
		b, _ := os.ReadFile(st.paths().LogPath)
		return bytes.Contains(b, []byte("cannot accept"))
	})
	_ = conn.Close()
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &was, nil); err != nil {
		t.Fatal(err)
	}
	if got := st.attach(2).answer("echo still here"); got != "still here" {
		t.Errorf("answer is %q", got)
	}
}
