package handover

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// TestOtherChildren starts other children all the while: none of them gets the control
// socket, which would keep a successor from noticing the end of its predecessor.
func TestOtherChildren(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if out, err := exec.Command("ls", "-l", "/proc/self/fd").Output(); err != nil || strings.Contains(string(out), "socket:") {
					t.Errorf("a child has\n%s%v", out, err)
					return
				}
			}
		})
	}
	for range 2000 {
		_, _ = Start(Program{Path: "/nonexistent"}, nil)
	}
	close(stop)
	all.Wait()
}
