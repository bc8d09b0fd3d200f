package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"bareclaw/observe/capture"
)

func TestAppIsNotUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, http.NotFoundHandler())
	r.app.Close()
	response, body := r.get("/")
	if response.StatusCode != http.StatusBadGateway || !strings.Contains(body, "Nothing listens at "+r.app.URL) || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("got %s: %s", response.Status, body)
	}
	if kept := r.look(); kept.End != capture.AppFailed || kept.Status != 0 || kept.Evidence != 0 {
		t.Errorf("kept is %+v", kept)
	}
	request := r.request(http.MethodGet, "/", nil)
	request.Header.Set("Accept", "application/json, */*")
	response, body = r.do(request)
	if response.StatusCode != http.StatusBadGateway || !strings.HasPrefix(body, `{"error":"Nothing listens`) {
		t.Errorf("got %s: %s", response.Status, body)
	}
	bare := httptest.NewServer(New(Options{Store: r.store}))
	defer bare.Close()
	response, err := http.Get(bare.URL)
	if err != nil || response.StatusCode != http.StatusBadGateway {
		t.Errorf("without a target: %v, %v", response, err)
	}
	response.Body.Close()
}

func TestAppRestarts(t *testing.T) {
	t.Parallel()
	app := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	r := newRig(t, app)
	for range 5 {
		r.store.AppStarted()
		if response, body := r.get("/a"); response.StatusCode != http.StatusOK || body != "here" {
			t.Errorf("while it is up: %s: %s", response.Status, body)
		}
		run := r.look().Run
		address := r.app.Listener.Addr().String()
		r.app.CloseClientConnections()
		r.app.Close()
		if response, _ := r.get("/a"); response.StatusCode != http.StatusBadGateway {
			t.Errorf("while it is down: %s", response.Status)
		}
		if kept := r.look(); kept.Run != run || kept.End != capture.AppFailed {
			t.Errorf("kept is %+v", kept)
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		r.app = httptest.NewUnstartedServer(app)
		r.app.Listener.Close()
		r.app.Listener = listener
		r.app.Start()
	}
}

func TestTargetsAreRefused(t *testing.T) {
	t.Parallel()
	p := New(Options{
		Refuse: func(address string) string {
			if strings.HasSuffix(address, ":3001") {
				return "that is the gateway itself"
			}
			return ""
		},
	})
	cases := map[string]string{
		"http://localhost:3001": "cannot observe localhost:3001: that is the gateway itself",
		"ftp://localhost":       `"ftp://localhost" is neither http nor https`,
		"localhost:3000":        `"localhost:3000" names no host: write it as http://localhost:3000`,
		"https://localhost":     "",
		"http://[::1]:3000/x":   "",
	}
	for address, want := range cases {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := p.SetTarget(u); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

// raw answers each connection by hand.
func (r *rig) raw(answer func(c net.Conn, in *bufio.Reader)) {
	r.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			if _, err := http.ReadRequest(in); err == nil {
				answer(c, in)
			}
			c.Close()
		}
	}()
	r.t.Cleanup(func() {
		listener.Close()
		<-done
	})
	r.target("http://" + listener.Addr().String())
}

func TestAppFailsInTheMiddle(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answer string
		status int // of the client
		end    capture.End
		kept   int // status
	}{
		"closes":             {"", http.StatusBadGateway, capture.AppFailed, 0},
		"is no HTTP":         {"hello\r\n\r\n", http.StatusBadGateway, capture.AppFailed, 0},
		"dies in the body":   {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart", http.StatusOK, capture.AppFailed, 200},
		"dies in a chunk":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", http.StatusOK, capture.AppFailed, 200},
		"says too little":    {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npart and more", http.StatusOK, capture.Complete, 200},
		"says no length":     {"HTTP/1.1 200 OK\r\n\r\nall", http.StatusOK, capture.Complete, 200},
		"has a wrong header": {"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", http.StatusBadGateway, capture.AppFailed, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, http.NotFoundHandler())
			r.raw(func(conn net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(conn, c.answer) })
			// POST: it is not sent again.
			request := r.request(http.MethodPost, "/a", strings.NewReader("x"))
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			response, err := transport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if isCut := c.end == capture.AppFailed && c.kept != 0; response.StatusCode != c.status || (err != nil) != isCut {
				t.Errorf("the client got %s, %v", response.Status, err)
			}
			if kept := r.look(); kept.End != c.end || kept.Status != c.kept || kept.Evidence.Has(capture.Response) != (c.end == capture.Complete) {
				t.Errorf("kept is %+v", kept)
			}
		})
	}
}

func TestClientIsGone(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/stream" {
			_, _ = io.WriteString(w, "begin")
			_ = http.NewResponseController(w).Flush()
		}
		begun <- struct{}{}
		<-in.Context().Done()
	}))
	for _, path := range []string{"/hang", "/stream"} {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan struct{})
		go func() {
			defer close(failed)
			response, err := http.DefaultClient.Do(r.request(http.MethodGet, path, nil).WithContext(ctx))
			if err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}()
		<-begun
		cancel()
		<-failed
		if kept := r.look(); kept.End != capture.ClientGone {
			t.Errorf("%s ended as %q", path, kept.End)
		}
	}
}

// TestBrokenUpload: a client that breaks off in a body, and still reads, gets no answer, and the app no request that looks complete.
func TestBrokenUpload(t *testing.T) {
	t.Parallel()
	r := newRig(t, http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		if _, err := io.Copy(io.Discard, in.Body); err == nil {
			t.Error("the app got a whole request")
		}
	}))
	for name, request := range map[string]string{
		"length": "Content-Length: 100\r\n\r\npart",
		"chunks": "Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
	} {
		for range 20 {
			conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, "POST /a HTTP/1.1\r\nHost: a\r\n"+request)
			_ = conn.(*net.TCPConn).CloseWrite()
			if got, _ := io.ReadAll(conn); len(got) > 0 {
				t.Errorf("%s: the client got %q", name, got)
			}
			conn.Close()
			if kept := r.look(); kept.End != capture.ClientGone {
				t.Errorf("%s: it ended as %q", name, kept.End)
			}
		}
	}
}

func TestBigBodiesAreNotBuffered(t *testing.T) {
	const size = 200 << 20
	block := make([]byte, 1<<20)
	_, _ = rand.Read(block)
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		n, _ := io.Copy(io.Discard, in.Body)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Got", fmt.Sprint(n))
		for range size / len(block) {
			_, _ = w.Write(block)
		}
	}))
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	upload := io.LimitReader(repeater(block), size)
	response, err := http.DefaultClient.Do(r.request(http.MethodPost, "/a", upload))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil || n != size || response.Header.Get("Got") != fmt.Sprint(size) {
		t.Errorf("%d bytes came, %v; the app got %s", n, err, response.Header.Get("Got"))
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 20<<20 {
		t.Errorf("%d MiB were allocated on the way", grown>>20)
	}
	kept := r.look()
	if kept.Sent.Size != size || kept.Received.Size != size || !kept.Received.Cut || len(kept.Received.Body) > capture.MaxBody || kept.Evidence.Has(capture.Body) {
		t.Errorf("kept are %d and %d bytes, cut %v", kept.Sent.Size, kept.Received.Size, kept.Received.Cut)
	}
}

// A repeater reads the same again and again.
type repeater []byte

func (r repeater) Read(p []byte) (int, error) { return copy(p, r), nil }

func TestEncodedBodies(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, `{"password":"abc"}`)
	_ = z.Close()
	bodies := map[string]struct {
		encoding string
		body     []byte
		kept     string
	}{
		"/gzip":   {"gzip", packed.Bytes(), `{"password":"[masked:3]"}`},
		"/broken": {"gzip", packed.Bytes()[:packed.Len()-6], ""},
		"/none":   {"gzip", []byte("no gzip"), ""},
		"/other":  {"br", []byte("\x0b\x02\x80abc"), ""},
	}
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if in.Header.Get("Accept-Encoding") != "gzip" { // not br, which is not read
			t.Errorf("the app is asked for %q", in.Header.Get("Accept-Encoding"))
		}
		b := bodies[in.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", b.encoding)
		_, _ = w.Write(b.body)
	}))
	for path, b := range bodies {
		request := r.request(http.MethodGet, path, nil)
		request.Header.Set("Accept-Encoding", "br, gzip")
		response, body := r.do(request)
		if body != string(b.body) || response.Header.Get("Content-Encoding") != b.encoding {
			t.Errorf("%s: the client got %q", path, body)
		}
		kept := r.look()
		if string(kept.Received.Body) != b.kept || kept.Evidence.Has(capture.Body) != (b.kept != "") || kept.End != capture.Complete {
			t.Errorf("%s: kept is %q of %+v", path, kept.Received.Body, kept)
		}
	}
}

func TestManyCookiesPass(t *testing.T) {
	t.Parallel()
	const many = 1000
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if n := len(in.Cookies()); n != many {
			t.Errorf("the app got %d cookies", n)
		}
		for n := range many {
			http.SetCookie(w, &http.Cookie{
				Name:  fmt.Sprint("c", n),
				Value: "value",
			})
		}
	}))
	request := r.request(http.MethodGet, "/", nil)
	for n := range many {
		request.AddCookie(&http.Cookie{
			Name:  fmt.Sprint("c", n),
			Value: "value",
		})
	}
	response, _ := r.do(request)
	kept := r.look()
	if len(response.Cookies()) != many || len(kept.Received.Header["Set-Cookie"]) != many {
		t.Errorf("the client got %d, kept are %d", len(response.Cookies()), len(kept.Received.Header["Set-Cookie"]))
	}
	if strings.Contains(fmt.Sprint(kept), "value") {
		t.Error("a value is kept")
	}
}

func TestTrafficFlowsWithoutCapture(t *testing.T) {
	t.Parallel()
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	r.proxy.store = nil
	if _, body := r.get("/a"); body != "here" {
		t.Errorf("got %s", body)
	}
	if n := len(r.store.Requests(capture.Filter{})); n != 0 {
		t.Errorf("%d are kept", n)
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more")
	f.Fuzz(func(t *testing.T, value string) {
		id, ok := parseTraceparent(http.Header{traceparentHeader: {value}})
		if ok && (id == capture.TraceID{} || !strings.Contains(value, id.String())) {
			t.Errorf("%q has the trace %s", value, id)
		}
	})
}
