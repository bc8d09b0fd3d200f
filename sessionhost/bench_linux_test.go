package sessionhost

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// BenchmarkTurn hands turns to sessions that do nothing else, as many sessions at a time as
// the name says: turns that are answered at once, and turns of 30 events. Besides the time
// it reports the CPU time of a turn in the host and in the daemon's end.
func BenchmarkTurn(b *testing.B) {
	for _, c := range []struct {
		n    int
		text string
	}{{1, "hello"}, {20, "hello"}, {1, "realistic"}, {20, "realistic"}} {
		n := c.n
		b.Run(strconv.Itoa(n)+c.text, func(b *testing.B) {
			st := newStation(b, "FAKECLAUDE_INSTANT=1")
			var sessions []*listener
			for i := range n {
				s, err := st.hosts().Start(b.Context(), core.ChannelKey(fmt.Sprint("c", i)), core.Launch{SessionID: newID(b)})
				check.OK(b, err)
				l := st.listen(s)
				l.until(core.Readied)
				sessions = append(sessions, l)
			}
			hosts, here := cpuOf(sessions), cpuTime(os.Getpid())
			b.ResetTimer()
			drive(sessions, b.N, c.text)
			b.StopTimer()
			turns := float64(b.N) * 1e3
			b.ReportMetric(float64(cpuOf(sessions)-hosts)/turns, "host-µs/op")
			b.ReportMetric(float64(cpuTime(os.Getpid())-here)/turns, "daemon-µs/op")
		})
	}
}

// drive has the sessions answer that many turns in all, each one after the other.
func drive(sessions []*listener, turns int, text string) {
	var all sync.WaitGroup
	for i, s := range sessions {
		all.Go(func() {
			for range (turns + i) / len(sessions) {
				answerOne(s, text)
			}
		})
	}
	all.Wait()
}

func answerOne(s *listener, text string) {
	id := core.TurnID(newID(s.t))
	line, err := (&Hosts{}).Compose(id, []byte(quoted(text)))
	if err != nil {
		s.t.Error(err)
		return
	}
	if err := s.Hand(id, line); err != nil {
		s.t.Error(err)
		return
	}
	for batch := range s.Events() {
		for _, ev := range batch {
			if ev.Kind == core.TurnState && ev.Phase == core.PhaseCompleted && ev.Turn == id {
				s.Ack(ev.Seq)
				return
			}
		}
	}
	s.t.Error("the session ended")
}

func cpuOf(sessions []*listener) time.Duration {
	var sum time.Duration
	for _, s := range sessions {
		sum += cpuTime(s.Info().HostPID)
	}
	return sum
}

// cpuTime returns how long the living threads of a process have run.
func cpuTime(pid int) time.Duration {
	var sum time.Duration
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}
