package harness

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
)

// showLogs shows what the programs of a failed test said, and fails a test in which
// one of them had a data race.
func (m *Machine) showLogs() {
	m.T.Helper()
	said := map[string]string{"the daemon": m.Log.String()}
	for _, f := range append(m.Glob("state/hosts/*.log"), m.Glob("state/bareclaw.log*")...) { // the second of daemons that were started detached
		b, _ := os.ReadFile(f)
		said[f] = string(b)
	}
	for _, log := range said {
		if _, race, found := strings.Cut(log, "DATA RACE"); found {
			race, _, _ = strings.Cut(race, "==================")
			m.T.Errorf("a data race:%s", race)
		}
	}
	if !m.T.Failed() {
		return
	}
	kept := m.Path("state/bareclaw.log") // the same once more, unless the daemon was started detached
	for who, log := range said {
		if log != "" && (who != kept || said["the daemon"] == "") {
			m.T.Logf("log of %s:\n%s", who, excerpt(log))
		}
	}
}

// excerpt returns what a log says in few enough lines for a report that is read
// elsewhere: the stacks of a process that was aborted are left out and the middle of
// what is long. With -v it is all of it.
func excerpt(log string) string {
	if testing.Verbose() {
		return log
	}
	const ends = 40
	var lines []string
	aborted := false
	for line := range strings.Lines(log) {
		switch {
		case strings.HasPrefix(line, "{"):
			aborted = false
		case strings.HasPrefix(line, "SIGABRT"):
			aborted = true
			line += "[stacks, see -v]\n"
		case aborted:
			continue
		}
		lines = append(lines, line)
	}
	if len(lines) > 2*ends {
		lines = append(append(lines[:ends:ends], "[...]\n"), lines[len(lines)-ends:]...)
	}
	return strings.Join(lines, "")
}

// A LockedBuffer may be written and read at the same time.
type LockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *LockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *LockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
