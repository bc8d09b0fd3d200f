package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"bareclaw/observe/capture"
)

// A rig is an app behind a proxy, and the store that is told.
type rig struct {
	t      *testing.T
	store  *capture.Store
	proxy  *Proxy
	app    *httptest.Server
	server *httptest.Server
}

func newRig(t *testing.T, app http.Handler) *rig {
	t.Helper()
	r := &rig{
		t:     t,
		store: capture.NewStore(capture.Options{}),
		app:   httptest.NewServer(app),
	}
	ctx, cancel := context.WithCancel(t.Context())
	worked := make(chan struct{})
	go func() {
		r.store.Run(ctx)
		close(worked)
	}()
	r.proxy = New(Options{Store: r.store})
	r.server = httptest.NewServer(r.proxy)
	r.target(r.app.URL)
	t.Cleanup(func() {
		r.server.CloseClientConnections()
		r.server.Close()
		r.app.CloseClientConnections()
		r.app.Close()
		cancel()
		<-worked
	})
	return r
}

func (r *rig) target(address string) {
	r.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.proxy.SetTarget(u); err != nil {
		r.t.Fatal(err)
	}
}

// look returns the next request that the store has.
func (r *rig) look() *capture.Request {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	look, err := r.store.Next(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	return look.Request
}

func (r *rig) get(path string) (*http.Response, string) {
	r.t.Helper()
	return r.do(r.request(http.MethodGet, path, nil))
}

func (r *rig) request(method, path string, body io.Reader) *http.Request {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.server.URL+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	return request
}

func (r *rig) do(request *http.Request) (*http.Response, string) {
	r.t.Helper()
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response, string(body)
}

func TestARequestIsPassedOnAndKept(t *testing.T) {
	t.Parallel()
	var got http.Header
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		got = in.Header.Clone()
		_, _ = io.Copy(io.Discard, in.Body)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		http.SetCookie(w, &http.Cookie{
			Name:     "sid",
			Value:    "0123456789",
			HttpOnly: true,
		})
		_, _ = io.WriteString(w, `{"user":"ann","password":"correct horse"}`)
	}))
	request := r.request(http.MethodPost, "/users/42?token=abcdef&page=2", strings.NewReader("password=battery&name=ann"))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "Bearer staple")
	request.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	request.Header.Set("Tracestate", "a=b")
	request.Header.Set("X-Brakit-Request-Id", "mine")
	response, body := r.do(request)
	if response.StatusCode != http.StatusOK || !strings.Contains(body, "correct horse") || !strings.Contains(response.Header.Get("Set-Cookie"), "0123456789") {
		t.Errorf("the client got %s, %v: %s", response.Status, response.Header, body)
	}
	kept := r.look()
	wantTrace := "00-0af7651916cd43dd8448eb211c80319c-" + kept.Span.String() + "-01"
	if got.Get("Traceparent") != wantTrace || got.Get("Tracestate") != "a=b" || got.Get("X-Brakit-Request-Id") != kept.ID {
		t.Errorf("the app got %v, want trace %s and id %s", got, wantTrace, kept.ID)
	}
	if kept.Endpoint != "POST /users/:id" || kept.URL != "/users/42?token=[masked:6]&page=2" {
		t.Errorf("kept are %s and %s", kept.Endpoint, kept.URL)
	}
	if kept.Status != http.StatusOK || kept.End != capture.Complete || !kept.Evidence.Has(capture.Response|capture.Body) || kept.Took <= 0 {
		t.Errorf("kept is %+v", kept)
	}
	if want := `{"user":"ann","password":"[masked:13]"}`; string(kept.Received.Body) != want || kept.Received.Size != int64(len(body)) {
		t.Errorf("the response is kept as %s (%d bytes)", kept.Received.Body, kept.Received.Size)
	}
	if want := "password=[masked:7]&name=ann"; string(kept.Sent.Body) != want {
		t.Errorf("the request is kept as %s", kept.Sent.Body)
	}
	if kept.Sent.Header.Get("Authorization") != "Bearer [masked:6]" || kept.Received.Header.Get("Set-Cookie") != "sid=[masked:10]; HttpOnly" {
		t.Errorf("headers are kept as %v and %v", kept.Sent.Header, kept.Received.Header)
	}
}
