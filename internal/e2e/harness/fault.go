package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// KillHost kills a host and waits until it and its claude are gone.
func (m *Machine) KillHost(h HostRecord) {
	m.T.Helper()
	m.Slay(h.Host())
	m.Gone(h.Claude())
}

// Usable fails unless the channel answers.
func (g *Gateway) Usable(channel string) {
	g.T.Helper()
	g.Say(channel, "echo usable").Want(g.T, "usable")
}

// BegunOn counts the turns of one channel that were begun with a text that
// contains s.
func (m *Machine) BegunOn(channel, s string) int {
	m.T.Helper()
	n := 0
	for _, l := range m.Journal() {
		prefix, text, _ := strings.Cut(l.Text, "]")
		if l.Event == "begun" && strings.HasPrefix(prefix, "[channel: "+strings.ReplaceAll(channel, ",", ";")+", ") && strings.Contains(text, s) {
			n++
		}
	}
	return n
}

// Processes returns all live processes of this machine: daemons and all their
// descendants have the path of the machine's journal in their environment.
func (m *Machine) Processes() []proc.Process {
	m.T.Helper()
	found, err := proc.ByEnviron("FAKECLAUDE_LOG", func(v string) bool { return v == m.Path("journal") })
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // only the records are looked at there
	}
	check.OK(m.T, err)
	return found
}

// NobodyLeft fails if a process of the machine runs, and ends it.
func (m *Machine) NobodyLeft() {
	m.T.Helper()
	for _, p := range m.Processes() {
		cmdline, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "cmdline"))
		m.T.Errorf("process %d is left: %q", p.PID, cmdline)
		_ = proc.Signal(p.PID, p.Start, syscall.SIGKILL)
	}
	if hosts := m.Hosts(); len(hosts) != 0 {
		m.T.Errorf("hosts are left: %v", hosts)
	}
}

// Freeze stops a process and returns when each of its threads has stopped.
func (m *Machine) Freeze(pid int, start uint64) {
	m.T.Helper()
	check.OK(m.T, proc.Signal(pid, start, syscall.SIGSTOP))
	m.Eventually("process stops", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // none where there is no /proc
		for _, file := range threads {
			b, _ := os.ReadFile(file)
			if i := bytes.LastIndexByte(b, ')'); i < 0 || !bytes.HasPrefix(b[i:], []byte(") T ")) {
				return false
			}
		}
		return true
	})
}

// EndsAll ends the daemon as Ctrl-C does, and fails unless all is gone then.
func (g *Gateway) EndsAll() {
	g.T.Helper()
	g.Signal(syscall.SIGINT)
	g.NobodyLeft()
}

// Spares returns the live session hosts that belong to no channel.
func (m *Machine) Spares() []HostRecord {
	var spares []HostRecord
	for channel, r := range m.Hosts() {
		if strings.HasPrefix(channel, "\x00") {
			spares = append(spares, r)
		}
	}
	return spares
}

// SpareReady waits until n spares are ready and returns them.
func (g *Gateway) SpareReady(n int) []HostRecord {
	g.T.Helper()
	g.Eventually("spares are ready", func() bool {
		return g.Metrics()[`bareclaw_warm_spares{state="ready"}`] == float64(n) && len(g.Spares()) == n
	})
	return g.Spares()
}

// Slay ends processes with SIGKILL, at once, and waits until they are gone.
func (m *Machine) Slay(ps ...proc.Process) {
	m.T.Helper()
	for _, p := range ps {
		if p.PID == 0 {
			m.T.Fatal("there is no such process")
		}
		_ = proc.Signal(p.PID, p.Start, syscall.SIGKILL)
	}
	for _, p := range ps {
		m.Gone(p)
	}
}

// Gone waits until a process has ended.
func (m *Machine) Gone(p proc.Process) {
	m.T.Helper()
	m.Eventually("process is gone", func() bool { return !proc.Alive(p.PID, p.Start) })
}

// Host returns the process of the host.
func (h HostRecord) Host() proc.Process { return proc.Process{PID: h.PID, Start: h.Start} }

// Claude returns the process of the claude.
func (h HostRecord) Claude() proc.Process {
	return proc.Process{PID: h.ClaudePID, Start: h.ClaudeStart}
}
