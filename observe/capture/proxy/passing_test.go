package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/observe/capture"
)

func TestStreamsFlow(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	media := map[string]string{
		"/events": "text/event-stream",
		"/lines":  "application/x-ndjson",
	}
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		w.Header().Set("Content-Type", media[in.URL.Path])
		for n := range 3 {
			fmt.Fprintf(w, "{\"token\":\"%d\"}\n", n)
			_ = http.NewResponseController(w).Flush()
			<-goOn
		}
	}))
	for path := range media {
		response, err := http.DefaultClient.Do(r.request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(response.Body)
		for n := range 3 {
			// The next line is not written before this one has come.
			if !lines.Scan() || lines.Text() != fmt.Sprintf("{\"token\":\"%d\"}", n) {
				t.Errorf("got %q", lines.Text())
			}
			goOn <- struct{}{}
		}
		response.Body.Close()
		kept := r.look()
		isKept := string(kept.Received.Body) == strings.Repeat("{\"token\":\"[masked:1]\"}\n", 3)
		if isKept != (path == "/lines") {
			t.Errorf("of %s this is kept: %s", path, kept.Received.Body)
		}
	}
}

func TestWebSocketsPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", in.Header.Get("Upgrade"))
		line, _ := buffered.ReadString('\n')
		_, _ = io.WriteString(conn, "echo "+line)
	}))
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %v, %v", response, err)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if line, _ := in.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("got %q", line)
	}
	conn.Close()
	if kept := r.look(); kept.End != capture.Upgraded || kept.Status != http.StatusSwitchingProtocols {
		t.Errorf("kept is %+v", kept)
	}
}

func TestTrailersAndContinuePass(t *testing.T) {
	t.Parallel()
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		w.Header().Set("Trailer", "Sum")
		w.WriteHeader(http.StatusEarlyHints)
		body, _ := io.ReadAll(in.Body)
		_, _ = w.Write(body)
		w.Header().Set("Sum", fmt.Sprint(len(body), in.Trailer.Get("Was")))
	}))
	var hinted atomic.Bool
	var continued atomic.Bool
	trace := &httptrace.ClientTrace{
		Got100Continue: func() { continued.Store(true) },
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			if code == http.StatusEarlyHints {
				hinted.Store(true)
			}
			return nil
		},
	}
	request := r.request(http.MethodPost, "/a", io.MultiReader(strings.NewReader("body")))
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
	request.Header.Set("Expect", "100-continue")
	request.Trailer = http.Header{"Was": {"here"}}
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "body" || response.Trailer.Get("Sum") != "4here" {
		t.Errorf("got %s, %v, %v", body, response.Trailer, err)
	}
	if !continued.Load() || !hinted.Load() {
		t.Errorf("continue: %v; early hints: %v", continued.Load(), hinted.Load())
	}
}

func TestTheAppsOwnAddressLeadsToTheProxy(t *testing.T) {
	t.Parallel()
	r := newRig(t, http.NotFoundHandler())
	app := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		_, port, _ := net.SplitHostPort(in.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
		w.Header().Set("Host-Was", in.Host)
		w.Header().Add("Set-Cookie", "a=1; Domain=localhost; Secure")
		w.Header().Add("Set-Cookie", "b=1; domain=.example.com")
		w.Header().Set("Location", strings.ReplaceAll(in.URL.Query().Get("to"), "PORT", port))
		w.WriteHeader(http.StatusFound)
	}))
	defer app.Close()
	r.target(app.URL)
	own := r.server.URL
	cases := map[string]string{
		"/next":                     "/next",
		"https://localhost:PORT/a":  own + "/a",
		"https://127.0.0.1:PORT":    own,
		"//localhost:PORT/a?b=c":    "//" + strings.TrimPrefix(own, "http://") + "/a?b=c",
		"https://example.com/a":     "https://example.com/a",
		"http://localhost:1/a":      "http://localhost:1/a",
		"/login?next=https://x:1/a": "/login?next=https://x:1/a",
	}
	for to, want := range cases {
		response, _ := r.get("/?to=" + url.QueryEscape(to))
		if got := response.Header.Get("Location"); got != want {
			t.Errorf("%s leads to %s, want %s", to, got, want)
		}
		if got := response.Header["Set-Cookie"]; len(got) != 2 || got[0] != "a=1; Secure" || got[1] != "b=1; domain=.example.com" {
			t.Errorf("cookies are %q", got)
		}
		if got := response.Header.Get("Host-Was"); "http://"+got != own {
			t.Errorf("the app was asked as %s", got)
		}
		kept := r.look()
		if !kept.HTTPS || !strings.Contains(kept.Received.Header.Get("Set-Cookie"), "Domain=localhost") {
			t.Errorf("kept is %+v", kept)
		}
	}
}

func TestAddressesPassAsTheyAre(t *testing.T) {
	t.Parallel()
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) { _, _ = io.WriteString(w, in.RequestURI) }))
	for _, uri := range []string{"/a%2Fb?x=1;y=%zz&z", "//a//b?", "/%C3%A4?q=%C3%A4&token=a%20b", "/a?b=c?d#e"} {
		conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", uri)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(response.Body)
		conn.Close()
		if string(got) != uri {
			t.Errorf("%s came as %s", uri, got)
		}
	}
}

func TestWhatATunnelSaysStays(t *testing.T) {
	t.Parallel()
	var got http.Header
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		got = in.Header.Clone()
		w.Header().Set("Location", "http://"+in.Context().Value(http.LocalAddrContextKey).(net.Addr).String()+"/b")
		w.WriteHeader(http.StatusSeeOther)
	}))
	request := r.request(http.MethodGet, "/a", nil)
	request.Host = "phone.example"
	request.Header.Set("X-Forwarded-For", "192.0.2.1")
	request.Header.Set("X-Forwarded-Proto", "https")
	response, _ := r.do(request)
	if got.Get("X-Forwarded-For") != "192.0.2.1, 127.0.0.1" || got.Get("X-Forwarded-Proto") != "https" || got.Get("X-Forwarded-Host") != "phone.example" {
		t.Errorf("the app got %v", got)
	}
	if location := response.Header.Get("Location"); location != "https://phone.example/b" {
		t.Errorf("the client is led to %s", location)
	}
}
