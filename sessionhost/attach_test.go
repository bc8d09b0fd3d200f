package sessionhost

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/protocol"
)

// inSequence fails unless the events' numbers have no gap, and begin with first.
func inSequence(t *testing.T, all []core.Event, first uint64) {
	t.Helper()
	want := first
	for _, ev := range all {
		if ev.Kind == core.SessionNew {
			continue // it shares its number with the event after it
		}
		if ev.Seq != want {
			t.Fatalf("event %d (%s) comes where %d should", ev.Seq, ev.Type, want)
		}
		want++
	}
}

// count returns how many events are of that kind.
func count(all []core.Event, kind core.EventKind) int {
	n := 0
	for _, ev := range all {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

// TestReplay detaches in a turn and attaches again, twice: everything that is
// not acknowledged comes again, once each time and in order, and nothing else.
func TestReplay(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.until(core.Readied)
	id := s.hand("wait " + st.path("go"))
	started := s.until(core.TurnState)
	s.Detach()
	if left := s.rest(); len(left) > 20 {
		t.Errorf("%d events after the end", len(left))
	}
	st.touch("go")

	s = st.attach(2)
	if info := s.Info(); !info.Ready || !info.Knows(id) {
		t.Errorf("the host says %+v", info)
	}
	first := s.until(core.Resulted)
	inSequence(t, first, 1)
	result := first[len(first)-1]
	if result.Result.Text != "waited for "+st.path("go") || result.Result.Turns[0] != id {
		t.Errorf("result is %+v", result.Result)
	}
	acked := started[len(started)-1].Seq
	s.Ack(acked)
	s.Detach()

	s = st.attach(3)
	again := s.until(core.Resulted)
	inSequence(t, again, acked+1)
	s.Ack(again[len(again)-1].Seq)
	s.answers("echo more", "more")
}

// TestNewerDaemonWins attaches daemons of several generations.
func TestNewerDaemonWins(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	first := st.start() // generation 1
	first.until(core.Readied)
	second := st.attach(2)
	first.rest() // it ends
	if err := first.Interrupt(); err == nil {
		// The write may go through; what counts is that nobody reads it.
		t.Log("the old connection takes a frame")
	}
	second.answers("echo two", "two")
	if s, err := st.generation(1).Attach(t.Context(), "c"); err == nil {
		s.Detach()
		t.Error("an older daemon was let in")
	} else if errors.Is(err, core.ErrNoHost) || !strings.Contains(err.Error(), "generation 1 is older than 2") {
		t.Errorf("an older daemon was told %v", err)
	}
	same := st.attach(2) // the same one, after its connection broke
	second.rest()
	same.answers("echo three", "three")
}

// TestPendingRequest leaves a permission request open while daemons come and go:
// each is told of it, the first answer counts, and it is listed no more.
func TestPendingRequest(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.hand("tool 0 ask for it")
	asked := s.until(core.Requested)
	request := asked[len(asked)-1].Request
	if request.Tool != "Bash" || !strings.Contains(string(request.Input), "ask for it") {
		t.Errorf("request is %+v", request)
	}
	s.Ack(asked[len(asked)-1].Seq) // it is listed all the same
	s.Detach()

	s = st.attach(2)
	if open := s.Info().Requests; len(open) != 1 || open[0].ID != request.ID || open[0].Tool != "Bash" || string(open[0].Input) != string(request.Input) {
		t.Fatalf("open requests are %+v", open)
	}
	for _, a := range []core.Answer{{Message: "not today"}, {Allow: true}} {
		check.OK(t, s.Answer(request.ID, a))
	}
	all := s.until(core.Resulted)
	if got := all[len(all)-1].Result.Text; got != "final: not today" {
		t.Errorf("result is %q: the first answer did not count", got)
	}
	s = st.attach(3)
	if open := s.Info().Requests; len(open) != 0 {
		t.Errorf("open requests are %+v", open)
	}
}

// TestRequestsAreVoidAfterExit ends claude with a request open.
func TestRequestsAreVoidAfterExit(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.hand("tool 0 ask for it")
	s.until(core.Requested)
	r := st.record()
	st.signal(r.ClaudePID, r.ClaudeStart, syscall.SIGKILL)
	s.until(core.Exited)
	s.Detach()
	if open := st.attach(2).Info().Requests; len(open) != 0 {
		t.Errorf("open requests are %+v", open)
	}
}

// TestLongAbsence lets a turn of very many events run while no daemon is there.
func TestLongAbsence(t *testing.T) {
	t.Parallel()
	events := 20_000
	if os.Getenv("BARECLAW_TEST_SOAK") != "" {
		events = 100_000 // a quarter of a minute under the race detector
	}
	st := newStation(t)
	s := st.start()
	s.until(core.Readied)
	s.hand(fmt.Sprint("events ", events))
	s.until(core.TurnState)
	s.Detach()
	st.eventually("turn is over", func() bool { return strings.Contains(st.read("journal"), `"event":"ended"`) })
	s = st.attach(2)
	all := s.until(core.Resulted)
	inSequence(t, all, 1)
	if len(all) < events {
		t.Errorf("%d events came, want all %d and more", len(all), events)
	}
	s.Ack(all[len(all)-1].Seq)
	s.answers("echo after", "after")
}

// TestAttachedDaemonKnowsTheTurn leaves a host in a turn whose beginning is
// acknowledged, and then after its end.
func TestAttachedDaemonKnowsTheTurn(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.until(core.Readied)
	id := s.hand("wait " + st.path("go"))
	all := s.until(core.TurnState)
	for all[len(all)-1].Phase != core.PhaseStarted {
		all = s.until(core.TurnState)
	}
	s.Detach()
	s = st.attach(2)
	if working := s.Info().Working; len(working) != 0 {
		t.Errorf("claude worked on %v before its first word", working)
	}
	s.Ack(all[len(all)-1].Seq)
	s.Detach()
	s = st.attach(3)
	if working := s.Info().Working; !slices.Equal(working, []core.TurnID{id}) {
		t.Errorf("claude works on %v, want %s", working, id)
	}
	st.touch("go")
	all = s.until(core.TurnState) // it is done
	s.Ack(all[len(all)-1].Seq)
	s.Detach()
	s = st.attach(4)
	if working := s.Info().Working; len(working) != 0 {
		t.Errorf("claude works on %v after its turn", working)
	}
}

// TestRecordIsWrittenLater starts a host that cannot write its record, as on a full
// disk. Once it can, a daemon that starts finds it: else its channel had no session
// any more, since the lock is held by somebody of whom nothing is known.
func TestRecordIsWrittenLater(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h := st.hosts()
	full := st.paths().RecordPath + ".tmp"
	check.OK(t, os.Mkdir(full, 0o700))
	s := st.begin(h, core.Launch{SessionID: newID(t)})
	s.answers("echo one", "one")
	check.OK(t, os.Remove(full))
	s.Detach()
	st.eventually("the host has a record", func() bool { _, err := protocol.ReadRecord(st.paths().RecordPath); return err == nil })
	st.attach(2).answers("echo two", "two")
}

// TestSharedRuntimeDir has two gateways with one runtime directory serve channels of the same
// name. The one does not take the session of the other for its own.
func TestSharedRuntimeDir(t *testing.T) {
	t.Parallel()
	st, other := newStation(t), newStation(t)
	other.o.RuntimeDir = st.o.RuntimeDir
	s := st.start()
	s.until(core.Readied)
	s.Detach()
	foreign := other.start()
	foreign.until(core.Readied)
	if s, err := st.generation(2).Attach(t.Context(), "c"); err == nil {
		t.Errorf("process %d is attached, which holds the other's session", s.Info().HostPID)
		s.Detach()
	}
	foreign.answers("echo still here", "still here")
}
