package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// Patience bounds every wait of these tests. It is long because nothing should
// ever depend on it: a test that needs it has failed.
const Patience = 3 * time.Minute

// Exit statuses of the program.
const (
	ExitOK      = exitcode.OK
	ExitFailure = exitcode.Failed
	ExitUsage   = exitcode.Usage
)

// TrialVariable shortens the trial of a new program.
const TrialVariable = "BARECLAW_TEST_TRIAL"

// A Machine is an isolated home in which daemons run, one after the other.
type Machine struct {
	T   testing.TB
	Dir string
	Env []string
	Log *LockedBuffer // stderr of all daemons

	Program string // that daemons and commands are started from; empty: that of Bareclaw
}

// NewMachine makes one with the scripted claude. Settings are NAME=VALUE.
func NewMachine(t testing.TB, settings ...string) *Machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "bc") // short: sockets have to fit below it
	check.OK(t, err)
	m := &Machine{T: t, Dir: dir, Log: &LockedBuffer{}}
	for _, sub := range []string{"home", "work", "state", "run"} {
		check.OK(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	m.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.Path("home"), "CLAUDE_CONFIG_DIR=" + m.Path("home/.claude"),
		"BARECLAW_PORT=0", "BARECLAW_TEST_CRASHES=1", "BARECLAW_SOURCE=off", "BARECLAW_CWD=" + m.Path("work"), "BARECLAW_STATE_DIR=" + m.Path("state"),
		"BARECLAW_RUNTIME_DIR=" + m.Path("run"), "BARECLAW_LOG_FORMAT=json", "BARECLAW_CLAUDE=" + FakeClaude(t),
		"FAKECLAUDE_LOG=" + m.Path("journal"),
		"GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE"), // or each process takes a second to end
	}, settings...)
	m.Env = append(m.Env, Readable()...)
	t.Cleanup(func() {
		m.EndHosts()
		m.showLogs()
		_ = os.RemoveAll(dir)
	})
	return m
}

// Readable is what lets tests of an ordinary user look at the processes of gateways. Root can
// anyway.
func Readable() []string {
	if os.Getuid() == 0 {
		return nil
	}
	return []string{proc.ReadableVariable + "=1"}
}

// Started runs the test in parallel with others, on a new machine with a daemon. The test must not
// call Parallel itself.
func Started(t *testing.T, settings ...string) (*Machine, *Gateway) {
	t.Helper()
	t.Parallel()
	m := NewMachine(t, settings...)
	return m, m.Start()
}

// EnvFile is the user's own file of settings, where init saves them.
const EnvFile = "home/.config/bareclaw/.env"

// Remembers has a gateway read the .env in the directory work, which counts for commands from then
// on. The gateway does not serve, because of another setting.
func (m *Machine) Remembers() {
	m.T.Helper()
	m.With("BARECLAW_PORT=none").Command(ExitUsage, "serve")
}

// Path returns the path of a file of the machine.
func (m *Machine) Path(name string) string { return filepath.Join(m.Dir, name) }

// Glob returns the paths of files of the machine.
func (m *Machine) Glob(pattern string) []string {
	files, err := filepath.Glob(m.Path(pattern))
	check.OK(m.T, err)
	return files
}

// A HostRecord is what the state directory says of a session host.
type HostRecord struct {
	Channel     string `json:"channel"`
	PID         int    `json:"pid"`
	Start       uint64 `json:"start"`
	ClaudePID   int    `json:"claude_pid"`
	ClaudeStart uint64 `json:"claude_start"`
}

// Hosts returns the records of live hosts by channel.
func (m *Machine) Hosts() map[string]HostRecord {
	hosts := map[string]HostRecord{}
	for _, f := range m.Glob("state/hosts/*.json") {
		var r HostRecord
		b, err := os.ReadFile(f)
		if err != nil || json.Unmarshal(b, &r) != nil {
			continue // it is being removed
		}
		if proc.Alive(r.PID, r.Start) {
			hosts[r.Channel] = r
		}
	}
	return hosts
}

// HostEnded waits for the end of a host and its claude. A host removes its record, and ends the
// connection to its daemon, a moment before its end.
func (m *Machine) HostEnded(r HostRecord) {
	m.T.Helper()
	m.Eventually(fmt.Sprintf("host and claude have ended: %+v", r), func() bool {
		return !proc.Alive(r.PID, r.Start) && !proc.Alive(r.ClaudePID, r.ClaudeStart)
	})
}

// EndHosts ends whatever a test left, by pid and start time: what its records name,
// and, where the system shows it, what was just being started. A claude is killed before its
// host, whose end it would notice, and could write an answer.
func (m *Machine) EndHosts() {
	defer m.endRest()
	for _, r := range m.Hosts() {
		if r.ClaudePID > 0 {
			_ = proc.Signal(r.ClaudePID, r.ClaudeStart, syscall.SIGKILL)
		}
		_ = proc.Signal(r.PID, r.Start, syscall.SIGKILL)
	}
}

func (m *Machine) endRest() {
	for range 100 {
		rest := m.Processes()
		if len(rest) == 0 {
			return
		}
		for _, p := range rest {
			_ = proc.Signal(p.PID, p.Start, syscall.SIGKILL)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = proc.WaitGone(ctx, p.PID, p.Start)
			cancel()
		}
	}
}

// A JournalLine is one thing the scripted claude did.
type JournalLine struct {
	PID     int
	Session string
	Event   string
	UUID    string
	Text    string
}

// Journal returns what all scripted claudes of the machine did.
func (m *Machine) Journal() []JournalLine {
	m.T.Helper()
	b, err := os.ReadFile(m.Path("journal"))
	if err != nil && !os.IsNotExist(err) {
		m.T.Fatal(err)
	}
	var lines []JournalLine
	for line := range bytes.Lines(b) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		var l JournalLine
		if err := json.Unmarshal(line, &l); err != nil {
			m.T.Fatalf("journal line %q: %v", line, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// Begun returns how many turns were begun with a text that contains s.
func (m *Machine) Begun(s string) int {
	m.T.Helper()
	n := 0
	for _, l := range m.Journal() {
		if l.Event == "begun" && strings.Contains(l.Text, s) {
			n++
		}
	}
	return n
}

// await waits until a channel is closed or has a value.
func await(t testing.TB, c <-chan struct{}, inVain func() string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(Patience):
		t.Fatalf("waited in vain: %s", inVain())
	}
}

// Eventually waits until cond holds: see [check.Eventually].
func (m *Machine) Eventually(what string, cond func() bool) {
	m.T.Helper()
	check.Eventually(m.T, Patience, what, cond)
}

// Touch makes an empty file, which lets a scripted turn go on.
func (m *Machine) Touch(name string) {
	m.T.Helper()
	check.OK(m.T, os.WriteFile(m.Path(name), nil, 0o600))
}

// Contents returns a file of the machine, empty if there is none.
func (m *Machine) Contents(name string) string {
	b, err := os.ReadFile(m.Path(name))
	if err != nil && !os.IsNotExist(err) {
		m.T.Fatal(err)
	}
	return string(b)
}
