package sessionhost

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// away runs a shell's command in a session of its own, as claude does with those
// of its Bash tool, and notes its pid.
const away = `setsid sh -c 'echo $$ > "$HOME/left.tmp"; mv "$HOME/left.tmp" "$HOME/left"; trap "" TERM; while :; do sleep 600; done' & `

// left returns the process that away has started.
func (st *station) left() (pid int, start uint64) {
	st.t.Helper()
	st.eventually("a process is started", func() bool { return st.exists("left") })
	b, err := os.ReadFile(st.path("left"))
	if err != nil {
		st.t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
		st.t.Fatal(err)
	}
	if start, err = proc.StartTime(pid); err != nil {
		st.t.Fatal(err)
	}
	return pid, start
}

// TestNothingIsLeftOfASession ends a session in every way: what claude started ends
// with it, also in a session of its own and when it does not heed SIGTERM.
func TestNothingIsLeftOfASession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(st *station, s *listener, r protocol.Record){
		"claude ends": func(st *station, _ *listener, _ protocol.Record) { st.touch("go") },
		"claude is killed": func(st *station, _ *listener, r protocol.Record) {
			_ = proc.Signal(r.ClaudePID, r.ClaudeStart, syscall.SIGKILL)
		},
		"the session is ended": func(_ *station, s *listener, _ protocol.Record) { _ = s.Stop(core.StopGently) },
		"the host is killed, and the channel reaped": func(st *station, _ *listener, r protocol.Record) {
			_ = proc.Signal(r.PID, r.Start, syscall.SIGKILL)
			if err := st.hosts().Reap(st.t.Context(), "c"); err != nil {
				st.t.Error(err)
			}
		},
		"both are killed, and a daemon starts": func(st *station, _ *listener, r protocol.Record) {
			_ = proc.Signal(r.ClaudePID, r.ClaudeStart, syscall.SIGKILL)
			_ = proc.Signal(r.PID, r.Start, syscall.SIGKILL)
			st.gone("host", r.PID, r.Start)
			if err := st.hosts().Sweep(st.t.Context()); err != nil {
				st.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStation(t)
			st.shell(away + `until [ -e "$HOME/go" ]; do sleep 0.01; done`)
			s := st.start()
			s.until(core.Readied)
			pid, start := st.left()
			end(st, s, st.record())
			st.gone("what claude had started", pid, start)
		})
	}
}

// TestSweepLeavesTheLiving sweeps while a session is at work.
func TestSweepLeavesTheLiving(t *testing.T) {
	t.Parallel()
	st, other := newStation(t), newStation(t)
	st.shell(away + `sleep 600`)
	s := st.start()
	s.until(core.Readied)
	pid, start := st.left()
	for _, place := range []*station{st, other} {
		if err := place.hosts().Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if r := st.record(); !proc.Alive(pid, start) || !proc.Alive(r.ClaudePID, r.ClaudeStart) {
		t.Error("a process of a live session was ended")
	}
}
