package observe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/api"
	"bareclaw/observe/findings"
)

// TestAppIsLate: until the app listens, whoever asks is told so at once; then the same address is the app.
func TestAppIsLate(t *testing.T) {
	f := newFaulty(t)
	gate := f.Path("gate")
	check.OK(t, syscall.Mkfifo(gate, 0o600))
	f.Env = append(f.Env, faultyVariable+"="+gate)
	o := f.Invoke(nil, append([]string{"observe", "--"}, faultyCommand()...)...)
	f.said(o, "Open the app at ")
	r := f.records()[0]
	if r.App != "" {
		t.Fatalf("the app answers at %s already", r.App)
	}
	for accept, want := range map[string]string{
		"text/html":        "The app does not listen on a port yet.\n\nSee what the app prints",
		"application/json": `{"error":"The app does not listen on a port yet. See what the app prints`,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.Proxy+"/a", strings.NewReader("x"))
		check.OK(t, err)
		request.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(request)
		check.OK(t, err)
		text, err := io.ReadAll(res.Body)
		check.OK(t, err)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadGateway || !strings.HasPrefix(string(text), want) {
			t.Errorf("as %s: %s: %s", accept, res.Status, text)
		}
	}
	check.OK(t, os.WriteFile(gate, nil, 0o600))
	f.isServed(f.answers(0))
	f.Command(exitcode.OK, "observe", "stop")
	f.nobodyIsLeft()
}

// TestAppDies: an app that is killed within an answer: the client has no whole answer, it is no evidence, and the next start is
// served.
func TestAppDies(t *testing.T) {
	f := newFaulty(t)
	r := f.starts()
	for range 3 {
		before := f.pidOf(r)
		res, err := http.Post(r.Proxy+"/die", "text/plain", nil)
		check.OK(t, err)
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if string(text) != "part" || err == nil {
			t.Errorf("the client has %q and no error", text)
		}
		if kept := f.latest(r, "POST /die"); kept.End != "app_failed" || kept.StatusCode != http.StatusOK || slices.Contains(kept.Evidence, "response") || slices.Contains(kept.Evidence, "body") {
			t.Errorf("kept is %+v", kept)
		}
		f.Eventually("the app has started again", func() bool {
			now := f.pidOf(r)
			return now != 0 && now != before
		})
	}
	f.Command(exitcode.OK, "observe", "stop")
	f.nobodyIsLeft()
}

// TestAppIsStopped: an app whose process does not run holds up its own clients alone, who may leave or wait until it runs
// again; and it does not outlive its observer.
func TestAppIsStopped(t *testing.T) {
	f := newFaulty(t)
	f.Invoke(nil, append([]string{"observe", "--"}, faultyCommand()...)...)
	r := f.answers(0)
	pid := f.pidOf(r)
	start, err := proc.StartTime(pid)
	check.OK(t, err)
	f.Freeze(pid, start)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Proxy+"/leaves", nil)
		if err == nil {
			_, err = http.DefaultClient.Do(request)
		}
		left <- err
	}()
	served := make(chan string, 1)
	go func() {
		text := ""
		if res, err := http.Get(r.Proxy + "/waits"); err == nil {
			all, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			text = string(all)
		}
		served <- text
	}()
	f.Eventually("both wait", func() bool {
		waiting := 0
		for _, endpoint := range []string{"GET /leaves", "GET /waits"} {
			all, err := client(r).LatestOf(t.Context(), endpoint, 1)
			check.OK(t, err)
			waiting += len(all)
		}
		return waiting == 2
	})
	f.Command(exitcode.OK, "observe", "list").Shows(r.Proxy)
	leave()
	if err := <-left; err == nil {
		t.Error("the app that is stopped has answered")
	}
	if kept := f.latest(r, "GET /leaves"); kept.End != "client_gone" || slices.Contains(kept.Evidence, "response") {
		t.Errorf("kept is %+v", kept)
	}
	check.OK(t, proc.Signal(pid, start, syscall.SIGCONT))
	if got := <-served; got != fmt.Sprintf("pid %d", pid) {
		t.Errorf("who has waited gets %q", got)
	}
	if kept := f.latest(r, "GET /waits"); kept.End != "complete" {
		t.Errorf("kept is %+v", kept)
	}
	f.Freeze(pid, start)
	f.Command(exitcode.OK, "observe", "stop")
	f.nobodyIsLeft()
}

// A load asks an app again and again.
type load struct {
	running sync.WaitGroup
	ends    context.CancelFunc
	served  atomic.Int64
	failed  atomic.Int64 // had the observer's answer that the app is not there
}

// asks begins a load by some clients. An error is given to wrong.
func asks(t *testing.T, clients int, address string, wrong func(what string)) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{ends: cancel}
	t.Cleanup(l.end)
	for range clients {
		l.running.Go(func() {
			for ctx.Err() == nil {
				l.ask(address, wrong)
			}
		})
	}
	return l
}

func (l *load) ask(address string, wrong func(what string)) {
	res, err := http.Get(address)
	if err != nil {
		wrong(err.Error())
		return
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	switch {
	case err == nil && res.StatusCode == http.StatusOK && strings.HasPrefix(string(text), "pid "):
		l.served.Add(1)
	case err == nil && res.StatusCode == http.StatusBadGateway:
		l.failed.Add(1)
	default:
		wrong(fmt.Sprintf("%s: %q, %v", res.Status, text, err))
	}
}

// end ends the load.
func (l *load) end() {
	l.ends()
	l.running.Wait()
}

// TestRestartsUnderLoad: an app is killed again and again while clients ask: each has an answer of the app, or the observer's
// that there is none; all are counted; and all are served again.
func TestRestartsUnderLoad(t *testing.T) {
	f := newFaulty(t)
	r := f.starts()
	l := asks(t, 4, r.Proxy+"/loaded", func(what string) { t.Error(what) })
	for range 5 {
		before := f.pidOf(r)
		if before == 0 {
			t.Fatal("the app is not served")
		}
		start, err := proc.StartTime(before)
		check.OK(t, err)
		check.OK(t, proc.Signal(before, start, syscall.SIGKILL))
		f.Eventually("another process answers", func() bool {
			now := f.pidOf(r)
			return now != 0 && now != before
		})
		served := l.served.Load()
		f.Eventually("the load is served", func() bool { return l.served.Load() > served+50 })
	}
	l.end()
	want := int(l.served.Load() + l.failed.Load())
	f.Eventually("all are counted", func() bool {
		all, _, err := client(r).Endpoints(t.Context(), api.EndpointChoice{})
		check.OK(t, err)
		for i := range all {
			if all[i].Endpoint == "GET /loaded" {
				return all[i].Summary.TotalRequests == want
			}
		}
		return false
	})
	f.Command(exitcode.OK, "observe", "stop")
	f.nobodyIsLeft()
}

// TestUnreadBodies: answers that cannot be read, as they are packed in another way or broken, prove nothing.
func TestUnreadBodies(t *testing.T) {
	f := newFaulty(t)
	r := f.starts()
	f.get(r, "/secret")
	f.finds(r, "exposed-secret", "GET /secret")
	for range 2 * findings.CleanHitsForResolution {
		for _, encoding := range []string{"br", "gzip", "zstd"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.Proxy+"/secret?"+encoding, nil)
			check.OK(t, err)
			request.Header.Set("Accept-Encoding", encoding)
			res, err := http.DefaultClient.Do(request)
			check.OK(t, err)
			text, err := io.ReadAll(res.Body)
			check.OK(t, err)
			_ = res.Body.Close()
			if string(text) != "\x1f\x8b\x08 is cut" || res.Header.Get("Content-Encoding") != encoding {
				t.Fatalf("of %s the client gets %q, as %q", encoding, text, res.Header.Get("Content-Encoding"))
			}
		}
	}
	f.get(r, "/secret/later") // requests are judged in their order
	f.finds(r, "exposed-secret", "GET /secret/later")
	if found := f.finds(r, "exposed-secret", "GET /secret"); found.State != string(findings.Open) || found.CleanHitsSinceLastSeen != 0 || found.Occurrences != 1 {
		t.Errorf("found is %+v", found)
	}
	for range findings.CleanHitsForResolution {
		f.get(r, "/secret?fixed")
	}
	f.Eventually("it is resolved", func() bool {
		return f.finds(r, "exposed-secret", "GET /secret").State == string(findings.Resolved)
	})
}

// TestStrangeJSON: JSON that is 10,000 levels deep, or longer than what is kept, passes as it is, and shows no secret where it is
// kept.
func TestStrangeJSON(t *testing.T) {
	f := newFaulty(t)
	r := f.starts()
	const depth = 10_000
	const kept = 64 << 10
	field := `{"password":"` + secret + `"}`
	filler := func(n int) string { return `{"filler":"` + strings.Repeat("x", n) + `",` }
	bodies := map[string]string{
		"deep arrays":       strings.Repeat("[", depth) + field + strings.Repeat("]", depth),
		"deep objects":      strings.Repeat(`{"a":`, depth) + field + strings.Repeat("}", depth),
		"deep and no end":   strings.Repeat("[", depth) + field,
		"no end within":     strings.Repeat(`{"a":[`, 2*depth) + field,
		"secret at the cut": filler(kept-40) + `"password":"` + strings.Repeat(secret, 10) + `"}`,
		"name at the cut":   filler(kept-18) + `"password":"` + secret + `"}`,
		"before the cut":    `{"password":"` + secret + `",` + filler(kept)[1:] + `"a":1}`,
		"as text":           `"{\"password\":\"` + secret + `\",` + strings.Repeat(" ", kept),
	}
	belowSecret := strings.Repeat(`{"token":[`, depth/2) + `"` + secret + `"` + strings.Repeat("]}", depth/2)
	if got := f.serve(r, "application/json", belowSecret); got != belowSecret {
		t.Errorf("the client gets %d bytes, want %d", len(got), len(belowSecret))
	}
	for name, body := range bodies {
		for _, media := range []string{"application/json", "text/plain"} {
			if got := f.serve(r, media, body); got != body {
				t.Errorf("%s as %s: the client gets %d bytes, want %d", name, media, len(got), len(body))
			}
		}
	}
	f.get(r, "/secret")
	f.finds(r, "exposed-secret", "GET /secret")
	all, err := client(r).LatestOf(t.Context(), "GET /file", 100)
	check.OK(t, err)
	if len(all) != 2*len(bodies)+1 {
		t.Fatalf("%d requests are kept", len(all))
	}
	for i := range all {
		body := all[i].ResponseBody
		if body == nil {
			t.Errorf("no body is kept of %+v", all[i])
			continue
		}
		if at := strings.Index(*body, secret[:8]); at >= 0 {
			t.Errorf("the secret is kept: %.300s", (*body)[max(0, at-100):])
		}
		if len(*body) > kept {
			t.Errorf("%d bytes are kept", len(*body))
		}
	}
}
