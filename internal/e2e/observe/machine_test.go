package observe

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/app"
	"bareclaw/observe/discovery"
)

// A machine has apps that are observed.
type machine struct{ *harness.Machine }

func newMachine(t *testing.T, kind string, settings ...string) *machine {
	t.Helper()
	t.Parallel()
	m := &machine{harness.NewMachine(t, append(settings, appVariable+"="+kind)...)}
	t.Cleanup(m.end)
	m.mark()
	return m
}

// end ends what a test has left.
func (m *machine) end() {
	for _, r := range m.records() {
		_ = proc.Signal(r.PID, r.Start, syscall.SIGKILL)
	}
	for _, p := range m.apps() {
		_ = proc.Signal(p.PID, p.Start, syscall.SIGKILL)
	}
}

// command starts the app, below a shell that waits for it.
func command() []string { return []string{"sh", "-c", `"$0" -test.run='^TestApp$' & wait`, os.Args[0]} }

// observe starts an observer with the app.
func (m *machine) observe(flags ...string) *harness.Invocation {
	m.T.Helper()
	args := append([]string{"observe"}, flags...)
	return m.Invoke(nil, append(append(args, "--"), command()...)...)
}

// records returns those of observers that run.
func (m *machine) records() []discovery.Record {
	all, err := discovery.Records(m.Path("state/observe")).Live()
	if err != nil {
		m.T.Error(err)
	}
	return all
}

// answers waits until an observer's app answers, and returns its record. Not is the process id of another observer.
func (m *machine) answers(not int) (r discovery.Record) {
	m.T.Helper()
	m.Eventually("the app answers", func() bool {
		all := m.records()
		if len(all) != 1 || all[0].PID == not || all[0].App == "" {
			return false
		}
		r = all[0]
		return true
	})
	return r
}

// get returns what the app answers, through its observer.
func (m *machine) get(r discovery.Record, path string) string {
	m.T.Helper()
	res, err := http.Get(r.Proxy + path)
	check.OK(m.T, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	check.OK(m.T, err)
	return string(text)
}

// said waits until an observer that runs has said something.
func (m *machine) said(o *harness.Invocation, text string) {
	m.T.Helper()
	m.Eventually("the observer says "+text, func() bool { return strings.Contains(o.Err.String(), text) })
}

// exit has the app end with a status. The request is one that is not sent again, to the next start of the app.
func (m *machine) exit(r discovery.Record, status int) {
	m.T.Helper()
	res, err := http.Post(fmt.Sprintf("%s/exit?%d", r.Proxy, status), "", nil)
	if err == nil { // else the observer has ended already
		_ = res.Body.Close()
	}
}

// isServed fails unless the app answers through its observer.
func (m *machine) isServed(r discovery.Record) {
	m.T.Helper()
	if got := m.get(r, "/"); !strings.HasPrefix(got, "pid ") {
		m.T.Errorf("the app answers %q", got)
	}
}

// apps returns the processes of the apps of this machine's observers.
func (m *machine) apps() []proc.Process {
	all, err := proc.EnvironValues(app.MarkVariable)
	check.OK(m.T, err)
	state, err := proc.EnvironValues("BC_MACHINE")
	check.OK(m.T, err)
	var found []proc.Process
	for p := range all {
		if state[p] == m.Dir {
			found = append(found, p)
		}
	}
	return found
}

// nobodyIsLeft waits until no app runs, and no observer.
func (m *machine) nobodyIsLeft() {
	m.T.Helper()
	m.Eventually("nobody is left", func() bool { return len(m.apps()) == 0 && len(m.records()) == 0 })
	if left := m.Glob("state/observe/*.json"); len(left) > 0 {
		m.T.Errorf("records are left: %v", left)
	}
	if _, err := os.Stat(m.Path("work/.brakit/port")); err == nil {
		m.T.Error("the port file is left")
	}
}

// mark lets apps be found that are of this machine.
func (m *machine) mark() { m.Env = append(m.Env, "BC_MACHINE="+m.Dir) }
