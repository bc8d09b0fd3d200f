package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"bareclaw/heartbeat"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// SlotLength returns a heartbeat interval so long that no slot begins during a test. Another n
// gives another interval, and so another slot.
func SlotLength(n int) string { return fmt.Sprintf("BARECLAW_HEARTBEAT_INTERVAL=%dh", 500_000+n) }

// With returns the machine with further settings.
func (m *Machine) With(settings ...string) *Machine {
	other := *m
	other.Env = append(slices.Clone(m.Env), settings...)
	return &other
}

// Beat carries out a tick and returns what it printed.
func (m *Machine) Beat(status int, flags ...string) string {
	m.T.Helper()
	out, err := m.Prepare(append([]string{"heartbeat", "run"}, flags...)...).CombinedOutput()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = exit.ExitCode(), nil
	}
	if err != nil || got != status {
		m.T.Errorf("the tick ended with status %d (%v), want %d:\n%s", got, err, status, out)
	}
	return string(out)
}

// Ticks returns the records of the heartbeat.
func (m *Machine) Ticks() heartbeat.Records {
	m.T.Helper()
	r, err := heartbeat.Read(m.Path("state"))
	check.OK(m.T, err)
	return r
}

// Outcomes are those of the ticks that are over, the oldest first.
func (m *Machine) Outcomes() string {
	m.T.Helper()
	var all []string
	for _, t := range m.Ticks().Ticks {
		all = append(all, string(t.Outcome))
	}
	return strings.Join(all, ", ")
}

// WantBeats fails unless ticks came to these outcomes and turns.
func (m *Machine) WantBeats(outcomes string, turns int) {
	m.T.Helper()
	if got := m.Outcomes(); got != outcomes {
		b, _ := os.ReadFile(m.Path("state/heartbeat.log"))
		m.T.Errorf("outcomes: %s; want %s\n%s", got, outcomes, b)
	}
	if n := m.Begun("[channel: heartbeat"); n != turns {
		m.T.Errorf("%d turns, want %d", n, turns)
	}
}

// Holder returns what the lock file says of a daemon that a tick has started, which is
// ended with the test.
func (m *Machine) Holder() lockfile.Holder {
	m.T.Helper()
	h, err := lockfile.ReadHolder(m.Path("state/" + lockfile.StateLockName))
	check.OK(m.T, err)
	m.T.Cleanup(func() { _ = proc.Signal(h.PID, h.Start, syscall.SIGKILL) })
	return h
}
