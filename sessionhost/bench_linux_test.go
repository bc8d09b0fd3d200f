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
)

// BenchmarkTurn hands turns that are answered at once to sessions that do
// nothing else, as many sessions at a time as the name says. Besides the time it
// reports the CPU time a turn takes in the host, and on this side of it.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{1, 20} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			st := newStation(b, "FAKECLAUDE_INSTANT=1")
			var sessions []*listener
			for i := range n {
				s, err := st.hosts().Start(b.Context(), core.ChannelKey(fmt.Sprint("c", i)), core.Launch{SessionID: newID(b)})
				if err != nil {
					b.Fatal(err)
				}
				l := st.listen(s)
				l.until(core.Readied)
				sessions = append(sessions, l)
			}
			hosts, here := cpuOf(sessions), cpuTime(os.Getpid())
			b.ResetTimer()
			drive(sessions, b.N)
			b.StopTimer()
			turns := float64(b.N) * 1e3
			b.ReportMetric(float64(cpuOf(sessions)-hosts)/turns, "host-µs/op")
			b.ReportMetric(float64(cpuTime(os.Getpid())-here)/turns, "daemon-µs/op")
		})
	}
}

// drive has the sessions answer that many turns in all, each one after the other.
func drive(sessions []*listener, turns int) {
	var all sync.WaitGroup
	for i, s := range sessions {
		all.Go(func() {
			for range (turns + i) / len(sessions) {
				answerOne(s)
			}
		})
	}
	all.Wait()
}

func answerOne(s *listener) {
	id := core.TurnID(newID(s.t))
	line, err := (&Hosts{}).Compose(id, []byte(`"hello"`))
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
