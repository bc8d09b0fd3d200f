package e2e

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
)

// showLogs shows what the programs of a failed test said, and fails a test in which
// one of them had a data race.
func (m *machine) showLogs() {
	m.t.Helper()
	said := map[string]string{"the daemon": m.log.String()}
	for _, f := range append(m.glob("state/hosts/*.log"), m.glob("state/bareclaw.log*")...) { // the second of daemons that were started detached
		b, _ := os.ReadFile(f)
		said[f] = string(b)
	}
	for _, log := range said {
		if _, race, found := strings.Cut(log, "DATA RACE"); found {
			race, _, _ = strings.Cut(race, "==================")
			m.t.Errorf("a data race:%s", race)
		}
	}
	if !m.t.Failed() {
		return
	}
	kept := m.path("state/bareclaw.log") // the same once more, unless the daemon was started detached
	for who, log := range said {
		if log != "" && (who != kept || said["the daemon"] == "") {
			m.t.Logf("log of %s:\n%s", who, excerpt(log))
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

// A lockedBuffer may be written and read at the same time.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
