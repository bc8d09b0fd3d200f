package host

import (
	"fmt"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// TestWorklist follows turns through a log of which more and more is acknowledged.
func TestWorklist(t *testing.T) {
	t.Parallel()
	create, _ := spoolIn(t)
	l := newEventLog(1<<20, 1<<20, create, nobody)
	for _, line := range []string{
		lifecycle("a", "queued"), lifecycle("a", "started"), lifecycle("b", "queued"), // 1 to 3
		lifecycle("b", "started"), toolCall, lifecycle("b", "completed"), // 4 to 6
		lifecycle("a", "completed"), lifecycle("c", "started"), lifecycle("c", "cancelled"), `{"type":"command_lifecycle","state":1}`, // 7 to 10
	} {
		ev, err := claude.Decode([]byte(line))
		check.OK(t, err)
		check.OK(t, l.append(false, stepOf(&ev), func(seq uint64) []byte { return protocol.EncodeEvent(seq, time.UnixMicro(7), ev.Raw) }))
	}
	for seq, want := range []string{"[]", "[]", "[a]", "[a]", "[a b]", "[a b]", "[a]", "[]", "[c]", "[]", "[]"} {
		daemon := fmt.Sprint("daemon ", seq)
		l.attach(daemon, int64(seq))
		l.ack("an older one", uint64(seq+1))
		l.ack(daemon, uint64(seq))
		if last, working, kept := l.attach(daemon, int64(seq)); fmt.Sprint(working) != want || last != 10 || kept != (seq < 10) {
			t.Errorf("after %d of %d entries claude works on %v, want %s", seq, last, working, want)
		}
	}
	if l.attach("of a generation before", 1); l.reader == "of a generation before" {
		t.Error("an older daemon may acknowledge")
	}
}
