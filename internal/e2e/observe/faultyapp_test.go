package observe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/api"
	"bareclaw/observe/discovery"
)

// faultyVariable makes a process of this test binary an app that fails in many ways. Its value is the file from which the app
// reads before it listens: a named pipe has it wait.
const faultyVariable = "FAULTY_APP"

// fileName is that of a file in the directory of the faulty app, which it serves.
const fileName = "served"

// bigSize is how much the faulty app sends, in bytes.
const bigSize = 200 << 20

// TestFaultyApp is the app that fails: see [answerFaulty].
func TestFaultyApp(t *testing.T) {
	file := os.Getenv(faultyVariable)
	if file == "" {
		t.Skip("is a process of the other tests")
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	_, err := os.ReadFile(file)
	check.OK(t, err)
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", os.Getenv("PORT")))
	check.OK(t, err)
	server := &http.Server{Handler: http.HandlerFunc(answerFaulty)}
	go func() { _ = server.Serve(l) }() // ends with the process
	<-interrupts
	os.Exit(0)
}

// answerFaulty answers as the path says.
func answerFaulty(w http.ResponseWriter, r *http.Request) {
	flush := func() { _ = http.NewResponseController(w).Flush() }
	switch {
	case r.URL.Path == "/die":
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "part")
		flush()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case r.URL.Path == "/hang":
		<-r.Context().Done()
	case r.URL.Path == "/big":
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Got", fmt.Sprint(n))
		block := []byte(strings.Repeat(" ", 1<<20))
		for range bigSize / len(block) {
			_, _ = w.Write(block)
		}
	case r.URL.Path == "/echo":
		text, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = w.Write(text)
	case r.URL.Path == "/file":
		text, _ := os.ReadFile(filepath.Join(os.Getenv("BC_MACHINE"), "work", fileName))
		w.Header().Set("Content-Type", r.URL.RawQuery)
		_, _ = w.Write(text)
	case r.URL.Path == "/print":
		_, _ = io.Copy(os.Stdout, r.Body)
	case r.URL.Path == "/named":
		_, _ = fmt.Fprint(w, r.Header.Get("Traceparent"), " ", r.Header.Get("X-Brakit-Request-Id"))
	case r.URL.Path == "/named/failed":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprint(w, r.Header.Get("X-Brakit-Request-Id"))
	case strings.HasPrefix(r.URL.Path, "/secret"):
		w.Header().Set("Content-Type", "application/json")
		answer := `{"api_key":"` + secret + `"}`
		if encoding := r.URL.RawQuery; encoding == "fixed" {
			answer = `{"name":"Anna"}`
		} else if encoding != "" {
			w.Header().Set("Content-Encoding", encoding)
			answer = "\x1f\x8b\x08 is cut"
		}
		_, _ = io.WriteString(w, answer)
	default:
		_, _ = fmt.Fprintf(w, "pid %d", os.Getpid())
	}
}

// loop has a shell start a command again and again, until its status is 9.
const loop = `while "$0" "$@"; [ $? -ne 9 ]; do :; done`

// A faulty is a machine with an observed app that fails.
type faulty struct{ *machine }

// newFaulty makes one whose app is not started yet.
func newFaulty(t *testing.T) *faulty {
	t.Helper()
	f := &faulty{newMachine(t, "plain")}
	f.Env = append(f.Env, faultyVariable+"="+os.DevNull)
	return f
}

// faultyCommand starts the app.
func faultyCommand() []string { return []string{os.Args[0], "-test.run=^TestFaultyApp$"} }

// starts starts an observer with the app, below a shell that starts it again.
func (f *faulty) starts() discovery.Record {
	f.T.Helper()
	f.Invoke(nil, append([]string{"observe", "--", "sh", "-c", loop}, faultyCommand()...)...)
	return f.answers(0)
}

// client returns a client of the observer's API.
func client(r discovery.Record) *api.Client {
	return api.NewClient(fmt.Sprintf("http://127.0.0.1:%d", r.Port), api.Timeouts{
		Fetch:  patience,
		Health: patience,
		Replay: patience,
	})
}

// latest waits until the latest request to an endpoint is known whole, and returns it.
func (f *faulty) latest(r discovery.Record, endpoint string) (found api.Request) {
	f.T.Helper()
	f.Eventually("a request to "+endpoint+" is captured", func() bool {
		all, err := client(r).LatestOf(f.T.Context(), endpoint, 1)
		check.OK(f.T, err)
		if len(all) == 0 || all[0].End == "" {
			return false
		}
		found = all[0]
		return true
	})
	return found
}

// serve has the app answer with a text, and returns what the client gets.
func (f *faulty) serve(r discovery.Record, media, text string) string {
	f.T.Helper()
	check.OK(f.T, os.WriteFile(f.Path("work/"+fileName), []byte(text), 0o600))
	return f.get(r, "/file?"+media)
}

// pidOf returns the process that answers, or 0.
func (f *faulty) pidOf(r discovery.Record) (pid int) {
	f.T.Helper()
	_, _ = fmt.Sscanf(f.get(r, "/"), "pid %d", &pid)
	return pid
}

// finding returns what a rule has found at an endpoint.
func (f *faulty) finding(r discovery.Record, rule, endpoint string) (found api.Finding, ok bool) {
	f.T.Helper()
	all, _, err := client(r).Findings(context.WithoutCancel(f.T.Context()), api.Choice{})
	check.OK(f.T, err)
	for _, one := range all {
		if one.Issue.Rule == rule && one.Issue.Endpoint == endpoint {
			return one, true
		}
	}
	return api.Finding{}, false
}

// finds waits until a rule has found something at an endpoint.
func (f *faulty) finds(r discovery.Record, rule, endpoint string) (found api.Finding) {
	f.T.Helper()
	f.Eventually(rule+" is found at "+endpoint, func() (ok bool) {
		found, ok = f.finding(r, rule, endpoint)
		return ok
	})
	return found
}
