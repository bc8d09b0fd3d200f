package observe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/api"
	"bareclaw/observe/capture"
	"bareclaw/observe/capture/proxy"
	"bareclaw/observe/findings"
)

// A passage is an app behind a proxy, without an observer's process.
type passage struct {
	store *capture.Store
	proxy *httptest.Server
}

func newPassage(t *testing.T, app http.HandlerFunc) *passage {
	t.Helper()
	server := httptest.NewServer(app)
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	check.OK(t, err)
	store := capture.NewStore(capture.Options{})
	p := proxy.New(proxy.Options{Store: store})
	check.OK(t, p.SetTarget(target))
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { store.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return &passage{store, front}
}

// get sends a request as a page would.
func (p *passage) get(t *testing.T, path string, headers ...string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.proxy.URL+path, nil)
	check.OK(t, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	check.OK(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	check.OK(t, err)
	_ = res.Body.Close()
}

// TestReplay: the last GET is sent again with what makes it be answered likewise, but not as a request of a page, and is captured.
func TestReplay(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []http.Header
	status := http.StatusOK
	p := newPassage(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "here")
	})
	replay := newReplayer(p.store, p.proxy.URL)
	if _, err := replay.Replay(t.Context(), "GET /users/:id"); !errors.Is(err, api.ErrNoReplay) {
		t.Errorf("without a request before: %v", err)
	}
	p.get(t, "/users/7?page=2", "Authorization: Bearer abc", "Cookie: s=1", "Referer: http://localhost/", "Sec-Fetch-Site: same-origin", "If-None-Match: x")
	_, err := p.store.Next(t.Context()) // the client has its answer before the store
	check.OK(t, err)
	mu.Lock()
	status = http.StatusForbidden
	mu.Unlock()
	again, err := replay.Replay(t.Context(), "GET /users/:id")
	check.OK(t, err)
	if again.Before != http.StatusOK || again.Status != http.StatusForbidden {
		t.Errorf("sent again: %+v", again)
	}
	request, ok := p.store.Request(again.RequestID)
	if !ok || request.Status != http.StatusForbidden || !strings.HasPrefix(request.URL, "/users/7") || string(request.Received.Body) != "here" {
		t.Errorf("captured: %+v", request)
	}
	mu.Lock()
	defer mu.Unlock()
	got := seen[len(seen)-1]
	for name, want := range map[string]string{
		"Authorization":  "Bearer abc",
		"Cookie":         "s=1",
		"Referer":        "",
		"Sec-Fetch-Site": "",
		"If-None-Match":  "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
}

// TestEventsOfRequests: clients of the API hear of each request once it is known whole, and of findings.
func TestEventsOfRequests(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	p := newPassage(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	store, err := findings.OpenStore(t.TempDir()+"/.brakit", storeFile(t, t.TempDir()), log)
	check.OK(t, err)
	server := api.NewServer(api.Options{
		Captured: p.store,
		Findings: store,
		Peer:     func(net.Conn) bool { return true },
		Log:      log,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }() // ends by Shutdown
	t.Cleanup(func() {
		check.OK(t, server.Shutdown(context.WithoutCancel(t.Context())))
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	res, err := http.Get("http://" + listener.Addr().String() + api.PathEvents)
	check.OK(t, err)
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	lines.Scan()

	p.get(t, "/users/7")
	source := shownSource{p.store, server}
	look, err := source.Next(t.Context())
	check.OK(t, err)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if !strings.Contains(data, look.Request.ID) {
				t.Errorf("heard: %s", data)
			}
			return
		}
	}
	t.Errorf("nothing was heard: %v", lines.Err())
}
