package sessionhost

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// TestTurnOfADaemonThatWasReplaced hands over a turn and has another daemon come before the
// host has looked: claude gets the turn just where the other one is told that it has it. One
// that is told it has not hands the turn over again.
func TestTurnOfADaemonThatWasReplaced(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.shell(`while read -r line; do echo "$line" >> "$HOME/got"; done`)
	st.start().until(core.Readied)
	r := st.record()
	pause := func(sig syscall.Signal) {
		t.Helper()
		if err := proc.Signal(r.PID, r.Start, sig); err != nil {
			t.Fatal(err)
		}
	}
	got := func() string { b, _ := os.ReadFile(st.path("got")); return string(b) } // not there yet: nothing
	known := map[string]bool{}
	for n := range 100 {
		first, in := st.dial()
		_, _ = fmt.Fprintf(first, `{"type":"hello","version":1,"generation":%d}`+"\n", 2*n+2)
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		turn, last := fmt.Sprintf("turn%d.", n), fmt.Sprintf("last%d.", n)
		pause(syscall.SIGSTOP)
		_, _ = fmt.Fprintf(first, `{"type":"turn","id":"%s","line":{"id":"%s"}}`+"\n", turn, turn)
		second, in := st.dial()
		_, _ = fmt.Fprintf(second, `{"type":"hello","version":1,"generation":%d}`+"\n", 2*n+3)
		pause(syscall.SIGCONT)
		line, err := in.ReadString('\n')
		var w protocol.Welcome
		if err != nil || json.Unmarshal([]byte(line), &w) != nil {
			t.Fatalf("host says %q (%v)", line, err)
		}
		known[turn] = strings.Contains(strings.Join(w.Turns, " "), turn)
		_, _ = fmt.Fprintf(second, `{"type":"turn","id":"%s","line":{"id":"%s"}}`+"\n", last, last)
		st.eventually("claude has the last turn", func() bool { return strings.Contains(got(), last) })
	}
	for turn, known := range known {
		if has := strings.Contains(got(), turn); has != known {
			t.Errorf("claude has %s: %v, the other daemon was told: %v", turn, has, known)
		}
	}
}
