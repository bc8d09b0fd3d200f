package pipe

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// connected returns both ends of a connection, the host's as a socket.
func connected(t *testing.T) (*Socket, *net.UnixConn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw") // t.TempDir may be too long for a socket
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, "s")})
	check.OK(t, err)
	defer func() { _ = l.Close() }()
	peer, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	check.OK(t, err)
	t.Cleanup(func() { _ = peer.Close() })
	conn, err := l.AcceptUnix()
	check.OK(t, err)
	s, err := NewSocket(conn)
	check.OK(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, peer
}

// TestSocketReads reads what comes in bits, also when some of it was there before
// anybody waited, until the other end is gone.
func TestSocketReads(t *testing.T) {
	t.Parallel()
	s, peer := connected(t)
	_ = s.SetReadDeadline(time.Now())
	if n, err := s.Read(make([]byte, 10)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes with error %v, want a timeout", n, err)
	}
	_ = s.SetReadDeadline(time.Time{})
	want := bytes.Repeat([]byte("0123456789"), 10_000)
	go func() { // ends when it is read
		for p := want; len(p) > 0; p = p[10:] {
			_, _ = peer.Write(p[:10]) // a failure shows as too little
		}
		_ = peer.Close()
	}()
	if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes with error %v, want %d", len(got), err, len(want))
	}
}

// TestSocketWrites writes more than the other end has room for: it is waited for,
// but not for ever.
func TestSocketWrites(t *testing.T) {
	t.Parallel()
	s, peer := connected(t)
	want := bytes.Repeat([]byte("0123456789"), 500_000)
	go func() { // ends when it is read
		_, _ = s.Write(want) // a failure shows as too little
		_ = s.Close()
	}()
	if got, err := io.ReadAll(peer); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes with error %v, want %d", len(got), err, len(want))
	}
	stuck, _ := connected(t)
	_ = stuck.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := stuck.Write(want); n == 0 || n == len(want) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("wrote %d bytes with error %v, want some and a timeout", n, err)
	}
}

// TestSocketClose ends a Read and a Write that wait.
func TestSocketClose(t *testing.T) {
	t.Parallel()
	s, peer := connected(t)
	ended := make(chan error, 2)
	go func() { // ends below
		_, err := s.Read(make([]byte, 10))
		ended <- err
	}()
	go func() { // ends below
		_, err := s.Write(make([]byte, 5<<20))
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond) // for both to wait
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range cap(ended) {
		if err := <-ended; err == nil {
			t.Error("a call that waited ended without an error")
		}
	}
	if _, err := io.Copy(io.Discard, peer); err != nil {
		t.Errorf("the other end: %v", err)
	}
	if _, err := s.Read(make([]byte, 10)); err == nil {
		t.Error("a closed socket is read")
	}
}
