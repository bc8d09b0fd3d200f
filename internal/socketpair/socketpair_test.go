package socketpair

import (
	"io"
	"os"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestPair: what one end writes the other end reads, and the end of one is the end of the other.
func TestPair(t *testing.T) {
	t.Parallel()
	ours, file, err := New("test")
	check.OK(t, err)
	theirs, err := Conn(file)
	check.OK(t, err)
	_, err = ours.Write([]byte("hello"))
	check.OK(t, err)
	check.OK(t, ours.Close())
	b, err := io.ReadAll(theirs)
	check.OK(t, err)
	if string(b) != "hello" {
		t.Errorf("got %q", b)
	}
	check.OK(t, theirs.Close())
}

// TestNoSocket: a file that is no socket is refused.
func TestNoSocket(t *testing.T) {
	t.Parallel()
	f, err := os.Open(os.DevNull)
	check.OK(t, err)
	if _, err := Conn(f); err == nil {
		t.Error("a device is a connection")
	}
}
