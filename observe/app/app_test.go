package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/internal/proc"
	"bareclaw/internal/procmark"
	"bareclaw/internal/testkit/check"
)

// TestMain lets the test's program be an app that listens on PORT, below a shell that waits for it.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_APP") == "listen" {
		fmt.Println("listening")
		err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.NotFoundHandler())
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// lines gathers what an app says.
type lines struct {
	mu  sync.Mutex
	all []string
	got chan struct{}
}

func newLines() *lines { return &lines{got: make(chan struct{}, 100)} }

func (l *lines) add(stream, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, stream+": "+line)
	l.got <- struct{}{}
}

func (l *lines) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

func options(t *testing.T, said *lines, command ...string) Options {
	start, err := proc.StartTime(os.Getpid())
	check.OK(t, err)
	return Options{
		Command: command,
		Dir:     t.TempDir(),
		Environ: Environment{API: 1}.Environ(os.Environ()),
		Mark:    procmark.Of(t.TempDir(), os.Getpid(), start).String(),
		Stdout:  &bytes.Buffer{},
		Stderr:  &bytes.Buffer{},
		Said:    said.add,
	}
}

// TestOutput: output is passed on as it is, and read in lines of bounded length.
func TestOutput(t *testing.T) {
	said := newLines()
	o := options(t, said, "sh", "-c", `printf 'one\ntwo\r\nthree'; printf 'bad\nlast' >&2; head -c 20000 /dev/zero | tr '\0' x; echo; exit 3`)
	var out bytes.Buffer
	o.Stdout = &out
	a, err := Start(o)
	check.OK(t, err)
	exit, ok := errors.AsType[*exec.ExitError](a.Err())
	if !ok || exit.ExitCode() != 3 {
		t.Errorf("ended by %v, want status 3", a.Err())
	}
	if want := len("one\ntwo\r\nthree") + 20_001; out.Len() != want {
		t.Errorf("%d bytes of output passed on, want %d", out.Len(), want)
	}
	got := said.list()
	for _, want := range []string{"stdout: one", "stdout: two", "stderr: bad", "stderr: last"} {
		if !slices.Contains(got, want) {
			t.Errorf("not read: %q, but %.80q", want, got)
		}
	}
	longest := 0
	for _, line := range got {
		longest = max(longest, len(line))
	}
	if longest != maxLine+len("stdout: ") {
		t.Errorf("the longest line has %d bytes", longest)
	}
}

// TestListeners: the port is found of a process that a shell has started, its protocol too, and
// stopping the app ends both.
func TestListeners(t *testing.T) {
	port := freePort(t)
	said := newLines()
	o := options(t, said, "sh", "-c", `"$0" & wait`, os.Args[0])
	o.Environ = append(o.Environ, "TEST_APP=listen", "PORT="+strconv.Itoa(port))
	a, err := Start(o)
	check.OK(t, err)
	t.Cleanup(func() { a.Stop(t.Context()) })
	var found []Listener
	for len(found) == 0 {
		select {
		case <-a.Ended():
			t.Fatalf("ended: %v %q", a.Err(), said.list())
		case <-time.After(10 * time.Millisecond): // the kernel does not tell
		}
		found, err = a.Listeners()
		check.OK(t, err)
	}
	if len(found) != 1 || found[0].Port != port {
		t.Fatalf("listeners %v, want one on port %d", found, port)
	}
	on, err := On(port)
	check.OK(t, err)
	if !slices.Equal(on, found) {
		t.Errorf("on the port: %v, of the app: %v", on, found)
	}
	u, err := Probe(t.Context(), port)
	check.OK(t, err)
	if got, want := u.String(), fmt.Sprintf("http://localhost:%d", port); got != want {
		t.Errorf("address: %v, want %v", got, want)
	}

	a.Stop(t.Context())
	if on, err = On(port); err != nil || len(on) > 0 {
		t.Errorf("after the end: %v, %v", on, err)
	}
	left, err := proc.ByEnviron(MarkVariable, a.isMarked)
	check.OK(t, err)
	if len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

func freePort(t *testing.T) int {
	server := httptest.NewServer(nil)
	defer server.Close()
	u, err := url.Parse(server.URL)
	check.OK(t, err)
	port, err := strconv.Atoi(u.Port())
	check.OK(t, err)
	return port
}

// TestProbe: HTTPS is found on a server that answers nothing else.
func TestProbe(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	u, err := url.Parse(server.URL)
	check.OK(t, err)
	port, err := strconv.Atoi(u.Port())
	check.OK(t, err)
	found, err := Probe(t.Context(), port)
	check.OK(t, err)
	if got, want := found.Scheme, "https"; got != want {
		t.Errorf("scheme: %v, want %v", got, want)
	}
	if _, err := Probe(t.Context(), freePort(t)); err == nil {
		t.Error("no error for a port where nobody listens")
	}
}

// TestEnviron: an app sees where to send telemetry, nothing of the gateway's, and keeps what is set.
func TestEnviron(t *testing.T) {
	dir := t.TempDir()
	register := installRegister(t, dir)
	e := Environment{
		Port:       1,
		API:        2,
		Dir:        filepath.Join(dir, "web"),
		Instrument: true,
	}
	got := e.Environ([]string{"BARECLAW_TOKEN=secret", "PORT=3", "NODE_OPTIONS=--no-warnings", "OTEL_METRICS_EXPORTER=otlp"})
	if got, want := PortOf(got), 3; got != want {
		t.Errorf("port: %v, want %v", got, want)
	}
	for _, want := range []string{
		"BRAKIT_PORT=2",
		"PYTHONUNBUFFERED=1",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:2",
		"OTEL_METRICS_EXPORTER=otlp",
		"OTEL_BSP_SCHEDULE_DELAY=200",
		`NODE_OPTIONS=--no-warnings --require "` + register + `"`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in %q", want, got)
		}
	}
	if strings.Contains(strings.Join(got, "\n"), "BARECLAW_") {
		t.Errorf("the app sees the gateway's variables: %q", got)
	}
	e.Instrument = false
	if got := e.Environ(nil); slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, "NODE_OPTIONS=") }) {
		t.Errorf("instrumented: %q", got)
	}
}

// installRegister installs instrumentation that says that it was loaded, and returns the path of its module.
func installRegister(t *testing.T, dir string) string {
	t.Helper()
	module := filepath.Join(dir, "node_modules", telemetryPackage)
	register := filepath.Join(module, "dist", "register.cjs")
	check.OK(t, os.MkdirAll(filepath.Dir(register), 0o700))
	exports := `{"exports":{"./register":{"require":{"types":"./dist/register.d.cts","default":"./dist/register.cjs"},"default":"./dist/register.mjs"}}}` // as 0.82.0 has it
	check.OK(t, os.WriteFile(filepath.Join(module, "package.json"), []byte(exports), 0o600))
	check.OK(t, os.WriteFile(register, []byte(`console.log("instrumented")`), 0o600))
	return register
}

// TestInstrumentElsewhere: a program of Node.js that the app starts in another directory starts, and is instrumented.
func TestInstrumentElsewhere(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	dir := filepath.Join(t.TempDir(), `a "quoted" \ name`)
	check.OK(t, os.Mkdir(dir, 0o700))
	installRegister(t, dir)
	said := newLines()
	o := options(t, said, "sh", "-c", `cd / && "$0" -e 'console.log("started")'`, node)
	o.Dir = dir
	o.Environ = Environment{
		API:        1,
		Dir:        dir,
		Instrument: true,
	}.Environ([]string{"PATH=" + os.Getenv("PATH")})
	a, err := Start(o)
	check.OK(t, err)
	check.OK(t, a.Err())
	if got, want := said.list(), []string{"stdout: instrumented", "stdout: started"}; !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
}

// TestPythonOutput: a line that an app in Python prints comes while the app runs.
func TestPythonOutput(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	said := newLines()
	a, err := Start(options(t, said, "python3", "-c", `import time; print("served"); time.sleep(1000)`))
	check.OK(t, err)
	defer a.Stop(t.Context())
	select {
	case <-said.got:
	case <-time.After(time.Minute):
		t.Errorf("said only %q", said.list())
	}
}

// TestRequired: the file of an export is found in each form that a package may give it.
func TestRequired(t *testing.T) {
	for export, want := range map[string]string{
		`"./a.js"`:                             "./a.js",
		`{"require":"./a.cjs"}`:                "./a.cjs",
		`{"import":"./a.mjs","default":"./a"}`: "./a",
		`{"import":"./a.mjs"}`:                 "",
		`{"node":{"require":{"types":"./a.d.cts","default":"./a.cjs"}}}`: "./a.cjs",
		`["./a.js"]`: "",
		`null`:       "",
		``:           "",
	} {
		if got := required(json.RawMessage(export)); got != want {
			t.Errorf("of %s: %q, want %q", export, got, want)
		}
	}
}

// TestProbeOfHTTPWithStatus400: a server that refuses the probe with status 400 is one of HTTP.
func TestProbeOfHTTPWithStatus400(t *testing.T) {
	const sentence = "Client sent an HTTP request to an HTTPS server."
	for _, body := range []string{"", "Bad Request: name a host", sentence + "\n"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, body, http.StatusBadRequest)
		}))
		u, err := url.Parse(server.URL)
		check.OK(t, err)
		port, err := strconv.Atoi(u.Port())
		check.OK(t, err)
		found, err := Probe(t.Context(), port)
		server.Close()
		if err != nil || found.Scheme != "http" {
			t.Errorf("of %q: %v, %v", body, found, err)
		}
	}
}
