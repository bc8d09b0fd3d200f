package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/discovery"
	"bareclaw/sessionhost/protocol"
)

// TestObserve: an app that a shell starts is opened, listed and stopped.
func TestObserve(t *testing.T) {
	m := newMachine(t, "plain")
	o := m.observe()
	r := m.answers(0)
	m.isServed(r)
	m.said(o, "Open the app at "+r.Proxy+".")
	m.Command(exitcode.OK, "observe", "list").Shows(r.ID, r.Proxy, m.Path("work"), "nobody")
	var listed []discovery.Record
	check.OK(t, json.Unmarshal([]byte(m.Command(exitcode.OK, "observe", "list", "--json").Out.String()), &listed))
	if len(listed) != 1 || listed[0].PID != r.PID || listed[0].Port != r.Port {
		t.Errorf("listed: %+v", listed)
	}
	port, err := os.ReadFile(m.Path("work/.brakit/port"))
	if err != nil || strings.TrimSpace(string(port)) != strconv.Itoa(r.Port) {
		t.Errorf("the port file holds %q: %v", port, err)
	}
	m.Command(exitcode.Failed, "observe", "stop", "elsewhere").Tells(r.ID)
	m.Command(exitcode.OK, "observe", "stop", r.ID).Tells("has ended")
	o.Wait(exitcode.OK)
	m.nobodyIsLeft()
	m.Command(exitcode.Failed, "observe", "stop").Tells("no observer runs for this directory")
	m.Command(exitcode.OK, "observe", "stop", "--all")
	m.Command(exitcode.OK, "observe", "list").Prints("No app is observed. `bareclaw observe -- COMMAND` starts one.\n")
	m.Command(exitcode.Failed, "observe", "--", "no-such-program").Tells(`no program "no-such-program"`)
	m.nobodyIsLeft()
}

// TestObserveAgain: in the same directory another observer takes the place of the one before, with the same address and the
// findings; of several that begin at once one is left.
func TestObserveAgain(t *testing.T) {
	m := newMachine(t, "plain")
	first := m.observe()
	r := m.answers(0)
	m.get(r, "/secret")
	m.Eventually("something is found", func() bool { return strings.Contains(m.Contents("work/.brakit/findings.json"), `"GET /secret"`) })
	if strings.Contains(m.Contents("work/.brakit/findings.json"), secret) {
		t.Error("the secret is on the disk")
	}

	var all []*harness.Invocation
	for range 3 {
		all = append(all, m.observe())
	}
	first.Wait(exitcode.OK)
	m.Eventually("one is left", func() bool {
		running := 0
		for _, o := range all {
			select {
			case <-o.Done:
			default:
				running++
			}
		}
		return running == 1
	})
	again := m.answers(r.PID)
	if again.Proxy != r.Proxy || again.ID != r.ID {
		t.Errorf("the address is %s, was %s", again.Proxy, r.Proxy)
	}
	m.isServed(again)
	if !strings.Contains(m.Contents("work/.brakit/findings.json"), `"GET /secret"`) {
		t.Error("the findings are gone")
	}
	m.Command(exitcode.OK, "observe", "stop")
	m.nobodyIsLeft()

	m.observe()
	if last := m.answers(0); last.Proxy != r.Proxy {
		t.Errorf("after an end the address is %s, was %s", last.Proxy, r.Proxy)
	}
}

// TestAppEnds: the observer says how its app has ended, and ends too, with its status.
func TestAppEnds(t *testing.T) {
	m := newMachine(t, "plain")
	o := m.Invoke(nil, "observe", "--", os.Args[0], "-test.run=^TestApp$")
	r := m.answers(0)
	m.exit(r, 7)
	o.Wait(7).Tells("The app has ended with status 7.")
	m.nobodyIsLeft()

	o = m.observe()
	m.answers(0)
	shell := slices.MinFunc(m.apps(), func(a, b proc.Process) int { return cmp.Or(cmp.Compare(a.Start, b.Start), a.PID-b.PID) })
	check.OK(t, proc.Signal(shell.PID, shell.Start, syscall.SIGKILL)) // the app alone would have it end well
	o.Wait(128 + int(syscall.SIGKILL)).Tells("The app was ended by the signal: killed.")
	m.nobodyIsLeft()
}

// TestObserverIsKilled: the command of a killed observer ends with it, and what that has started at the next call.
func TestObserverIsKilled(t *testing.T) {
	m := newMachine(t, "plain")
	o := m.observe()
	r := m.answers(0)
	check.OK(t, o.Cmd.Process.Kill())
	<-o.Done
	m.Eventually("the shell has ended", func() bool { return len(m.apps()) <= 1 })
	m.observe()
	again := m.answers(r.PID)
	if again.Proxy != r.Proxy {
		t.Errorf("the address is %s, was %s", again.Proxy, r.Proxy)
	}
	m.isServed(again)
	if n := len(m.apps()); n != 2 {
		t.Errorf("%d processes run, want a shell and an app", n)
	}
	check.OK(t, proc.Signal(again.PID, again.Start, syscall.SIGKILL))
	m.Eventually("it is gone", func() bool { return len(m.records()) == 0 })
	m.Command(exitcode.Failed, "observe", "stop")
	m.Eventually("nobody is left", func() bool { return len(m.apps()) == 0 })
}

// TestPortClash: a port that is taken is told.
func TestPortClash(t *testing.T) {
	m := newMachine(t, "plain")
	taken := harness.TakenPort(t)
	m.Command(exitcode.Failed, "observe", "--port", taken, "--", "sleep", "1000").Tells("port "+taken+" cannot be used", "--port")
	m.Env = append(m.Env, "PORT="+taken)
	o := m.Invoke(nil, "observe", "--", os.Args[0], "-test.run=^TestApp$").Wait(exitcode.Failed)
	o.Tells("the port that PORT names is taken by another program", "address already in use", "The app has ended with status 1.")
	m.nobodyIsLeft()

	m.Env = append(m.Env, "PORT="+harness.FreePort(t))
	wanted := harness.FreePort(t)
	m.observe("--port", wanted)
	r := m.answers(0)
	if want := "http://127.0.0.1:" + wanted; r.Proxy != want {
		t.Errorf("the address is %s, want %s", r.Proxy, want)
	}
	if want := m.Env[len(m.Env)-1]; !strings.HasSuffix(r.App, strings.TrimPrefix(want, "PORT=")) {
		t.Errorf("the app answers at %s, want %s", r.App, want)
	}
}

// TestAddressIsTaken: the app gets another address when the one that it had is taken, and that is told. What comes with the directory
// of the app is not believed to be its address.
func TestAddressIsTaken(t *testing.T) {
	m := newMachine(t, "plain")
	m.observe()
	r := m.answers(0)
	m.Command(exitcode.OK, "observe", "stop")
	l, err := net.Listen("tcp", strings.TrimPrefix(r.Proxy, "http://"))
	check.OK(t, err)
	defer func() { _ = l.Close() }()
	o := m.observe()
	again := m.answers(0)
	if again.Proxy == r.Proxy {
		t.Errorf("the address is %s, which another program has", again.Proxy)
	}
	m.said(o, "the app gets another address: the port that it had is taken")
	m.isServed(again)
	m.Command(exitcode.OK, "observe", "stop")

	check.OK(t, os.RemoveAll(m.Path("state/observe")))
	foreign := harness.FreePort(t)
	check.OK(t, os.WriteFile(m.Path("work/.brakit/proxy-port"), []byte(foreign), 0o600))
	m.observe()
	if last := m.answers(0); strings.HasSuffix(last.Proxy, ":"+foreign) {
		t.Errorf("the address is %s, which came with the directory", last.Proxy)
	}
}

// TestTarget: an app that somebody else has started is observed, with HTTPS too; observers and the gateway are not.
func TestTarget(t *testing.T) {
	gatewayPort := harness.FreePort(t)
	m := newMachine(t, "plain", "BARECLAW_PORT="+gatewayPort)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pid 0") })
	before := "" // the address of the observer before
	servers := []*httptest.Server{httptest.NewServer(handler), httptest.NewTLSServer(handler)}
	for _, s := range servers {
		defer s.Close()
		o := m.Invoke(nil, "observe", "--target", s.URL)
		r := m.answers(0)
		before = r.Proxy
		m.isServed(r)
		if r.Target != s.URL {
			t.Errorf("the target is %s, want %s", r.Target, s.URL)
		}
		for _, address := range []string{r.Proxy, fmt.Sprintf("http://localhost:%d", r.Port)} {
			other := m.Prepare("observe", "--target", address)
			other.Dir = m.Path("home")
			out, err := other.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "this is the observer of "+r.Dir) {
				t.Errorf("%s is observed: %v: %s", address, err, out)
			}
		}
		check.OK(t, o.Cmd.Process.Signal(syscall.SIGTERM))
		o.Wait(exitcode.OK)
	}
	free := harness.FreePort(t)
	m.Command(exitcode.Failed, "observe", "--port", free, "--target", "http://localhost:"+free).Tells("the observer itself", "--port")
	m.Command(exitcode.Failed, "observe", "--target", before).Tells("the observer itself", "--port") // which it would have again
	m.nobodyIsLeft()
	m.Command(exitcode.Failed, "observe", "--target", "http://localhost:"+gatewayPort).Tells("this is the gateway itself")
	m.Command(exitcode.Usage, "observe", "--target", "http://example.com").Tells("is not this machine")
}

// TestTLSApp: an app with HTTPS and any certificate is found.
func TestTLSApp(t *testing.T) {
	m := newMachine(t, "tls")
	m.observe()
	r := m.answers(0)
	if !strings.HasPrefix(r.App, "https://") {
		t.Errorf("the app answers at %s", r.App)
	}
	m.isServed(r)
}

// TestAppMoves: an app that listens on another port is followed, as one that a tool restarts.
func TestAppMoves(t *testing.T) {
	m := newMachine(t, "plain")
	o := m.observe()
	r := m.answers(0)
	for range 3 {
		m.get(r, "/move")
		before := r.App
		m.Eventually("the app is found at another address", func() bool {
			r = m.answers(0)
			return r.App != before
		})
		m.isServed(r)
		m.said(o, "The app has started again, and answers at "+r.App)
	}
}

// TestAppIsRestarted: an app is followed that a tool starts again and again on its port, as nodemon does.
func TestAppIsRestarted(t *testing.T) {
	m := newMachine(t, "plain")
	o := m.Invoke(nil, "observe", "--", "sh", "-c", `while "$0" -test.run='^TestApp$'; [ $? -ne 9 ]; do :; done; exit 9`, os.Args[0])
	r := m.answers(0)
	for n := range 3 {
		before := m.get(r, "/")
		m.exit(r, 1)
		m.Eventually("another process answers", func() bool {
			res, err := http.Get(r.Proxy + "/")
			check.OK(t, err)
			defer func() { _ = res.Body.Close() }()
			text, err := io.ReadAll(res.Body)
			check.OK(t, err)
			now, _, _ := strings.Cut(string(text), ",")
			return res.StatusCode == http.StatusOK && !strings.HasPrefix(before, now+",")
		})
		m.Eventually("the start is told", func() bool {
			return strings.Count(o.Err.String(), "The app has started again, and answers at "+r.App) == n+1
		})
	}
	m.exit(r, 9)
	o.Wait(9).Tells("The app has ended with status 9.")
	m.nobodyIsLeft()
}

// TestInterrupt: SIGINT alone ends observer and app; in a terminal the app gets it once.
func TestInterrupt(t *testing.T) {
	m := newMachine(t, "polite")
	o := m.observe()
	m.answers(0)
	check.OK(t, o.Cmd.Process.Signal(syscall.SIGINT))
	o.Wait(exitcode.OK)
	m.nobodyIsLeft()

	x := m.Displayed(m.Prepare("observe", "--", os.Args[0], "-test.run=^TestApp$"))
	m.answers(0)
	x.Types(harness.KeyCtrlC)
	if status := x.Ends(); status != exitcode.OK {
		t.Errorf("after Ctrl-C: status %d", status)
	}
	if shown := x.Shown(); !strings.Contains(shown, "ended politely") || strings.Contains(shown, "twice") {
		t.Errorf("after Ctrl-C the app says %s", shown)
	}
	m.nobodyIsLeft()
}

// TestNoReader: an observer whose output nobody reads goes on, as does its app.
func TestNoReader(t *testing.T) {
	m := newMachine(t, "plain")
	read, write, err := os.Pipe()
	check.OK(t, err)
	cmd := m.Prepare("observe", "--", "sh", "-c", `yes | head -n 1000; "$0" -test.run='^TestApp$' & wait`, os.Args[0])
	cmd.Stdout = write
	cmd.Stderr = write
	check.OK(t, read.Close())
	check.OK(t, cmd.Start())
	check.OK(t, write.Close())
	r := m.answers(0)
	m.isServed(r)
	check.OK(t, cmd.Process.Signal(syscall.SIGINT))
	check.OK(t, cmd.Wait())
	m.nobodyIsLeft()
}

// TestDetach: an observer in the background outlives the one who started it and has no mark of a session; SIGINT ends it.
func TestDetach(t *testing.T) {
	m := newMachine(t, "plain")
	m.Env = append(m.Env, protocol.EnvMarkVariable+"=0123456789abcdef.1.1")
	args := append([]string{"observe", "--detach", "--"}, command()...)
	o := m.Command(exitcode.OK, args...)
	r := m.answers(0)
	o.Tells("Open the app at "+r.Proxy, "bareclaw observe stop")
	m.isServed(r)
	marked, err := proc.EnvironValues(protocol.EnvMarkVariable)
	check.OK(t, err)
	for p := range marked {
		if p.PID == r.PID {
			t.Error("the observer has the mark of the session")
		}
	}
	for _, p := range m.apps() {
		if _, has := marked[p]; has {
			t.Error("the app has the mark of the session")
		}
	}
	check.OK(t, proc.Signal(r.PID, r.Start, syscall.SIGINT))
	m.nobodyIsLeft()

	failed := m.Command(exitcode.Failed, "observe", "--detach", "--", "sh", "-c", `printf 'boom\033[31m\n' >&2; exit 3`)
	failed.Tells("the observer has ended", "boom", filepath.Join("state", "observe"))
	m.nobodyIsLeft()
}

// TestDetachedLog: the log of an observer in the background has what the app prints without its secrets, and is bounded; nor does
// the record have the secrets of the command.
func TestDetachedLog(t *testing.T) {
	m := newMachine(t, "plain")
	script := `printf 'db_password=%s\n' "$2"; yes 'many words that the app prints' | head -c 6000000; echo "api_key: $2" >&2; exec "$0" -test.run='^TestApp$'`
	m.Command(exitcode.OK, "observe", "--detach", "--", "sh", "-c", script, os.Args[0], "--token", secret)
	r := m.answers(0)
	if want := fmt.Sprintf("--token [masked:%d]", len(secret)); !strings.Contains(r.Command, want) {
		t.Errorf("the record has the command %q, want %s", r.Command, want)
	}
	m.Command(exitcode.OK, "observe", "stop")
	size := 0
	said := ""
	for _, path := range m.Glob("state/observe/*.log*") {
		text, err := os.ReadFile(path)
		check.OK(t, err)
		size += len(text)
		said += string(text)
	}
	if size > 5<<20 || strings.Contains(said, secret) || !strings.Contains(said, fmt.Sprintf("api_key: [masked:%d]", len(secret))) {
		t.Errorf("the log has %d bytes, the secret: %v; it ends with %q", size, strings.Contains(said, secret), said[max(0, len(said)-300):])
	}
	m.nobodyIsLeft()
}

// remountReadOnly makes a file system read-only.
func remountReadOnly(dir string) error {
	return exec.Command("mount", "-o", "remount,ro", dir).Run()
}

// TestHostileOutput: what an app prints is passed on, and what the observer itself says cannot command a terminal.
func TestHostileOutput(t *testing.T) {
	m := newMachine(t, "plain")
	dir := m.Path("work/a\x1b[31m\u202eb")
	check.OK(t, os.Mkdir(dir, 0o700))
	cmd := m.Prepare(append([]string{"observe", "--"}, command()...)...)
	cmd.Dir = dir
	var said harness.LockedBuffer
	cmd.Stderr = &said
	check.OK(t, cmd.Start())
	r := m.answers(0)
	m.isServed(r)
	m.Command(exitcode.OK, "observe", "list")
	m.Command(exitcode.Failed, "observe", "stop", "x\x1b[31m")
	check.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait() // by the signal, or with a status
	if strings.ContainsFunc(said.String(), func(r rune) bool { return r != '\t' && harness.CommandsTerminal(r) }) {
		t.Errorf("the observer says %q", said.String())
	}
	m.nobodyIsLeft()
}
