package pipe

import (
	"errors"
	"os"
	"testing"
	"time"
)

// TestSocketUnpolled: the runtime does not poll the connection, and so the daemon's reads
// do not wake the host.
func TestSocketUnpolled(t *testing.T) {
	t.Parallel()
	s, _ := connected(t)
	if err := s.file.SetDeadline(time.Now()); !errors.Is(err, os.ErrNoDeadline) {
		t.Errorf("error is %v, want %v", err, os.ErrNoDeadline)
	}
}
