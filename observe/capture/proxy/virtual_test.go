package proxy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"bareclaw/observe/capture"
)

// A pipeListener is a network in memory, on which time is virtual.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{
		conns: make(chan net.Conn),
		done:  make(chan struct{}),
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.done)
	return nil
}

func (*pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// A virtualRig is a rig in virtual time.
type virtualRig struct {
	t      *testing.T
	store  *capture.Store
	front  *pipeListener
	client *http.Client
	log    bytes.Buffer // of the store
}

// newVirtualRig has the bounds of time that the servers of an observer have.
func newVirtualRig(t *testing.T, app http.HandlerFunc) *virtualRig {
	t.Helper()
	r := &virtualRig{
		t:     t,
		front: newPipeListener(),
	}
	r.store = capture.NewStore(capture.Options{Log: slog.New(slog.NewTextHandler(&r.log, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	go r.store.Run(ctx) // ends with the test
	p := New(Options{Store: r.store})
	if err := p.SetTarget(&url.URL{Scheme: "http", Host: "localhost"}); err != nil {
		t.Fatal(err)
	}
	back := newPipeListener()
	p.target.Load().transport.DialContext = back.dial
	servers := []*http.Server{
		{Handler: app},
		{Handler: p, ReadHeaderTimeout: 30 * time.Second},
	}
	go func() { _ = servers[0].Serve(back) }()    // ends by Close
	go func() { _ = servers[1].Serve(r.front) }() // likewise
	transport := &http.Transport{DialContext: r.front.dial}
	r.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		p.target.Load().transport.CloseIdleConnections()
		_ = servers[1].Close()
		_ = servers[0].Close()
		cancel()
	})
	return r
}

// get returns what the app answers.
func (r *virtualRig) get(path string) string {
	r.t.Helper()
	response, err := r.client.Get("http://localhost" + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

// latest returns the latest request to an endpoint.
func (r *virtualRig) latest(endpoint string) *capture.Request {
	r.t.Helper()
	synctest.Wait()
	all := r.store.Requests(capture.Filter{Endpoint: endpoint})
	if len(all) == 0 {
		r.t.Fatalf("no request to %s is kept", endpoint)
	}
	return all[0]
}

// nothingIsHeld fails unless all memory for bodies that pass has been given back.
func (r *virtualRig) nothingIsHeld() {
	r.t.Helper()
	synctest.Wait()
	const most = 8 << 20
	if !r.store.Hold(most) {
		r.t.Error("bodies that have passed are held still")
		return
	}
	r.store.Release(most)
}

// TestStreamsOfAnHour: each event comes at once, other requests are answered meanwhile, and what is kept is one request of an hour.
func TestStreamsOfAnHour(t *testing.T) {
	t.Parallel()
	const (
		interval = 15 * time.Second
		events   = int(time.Hour / interval)
	)
	event := func(n int) string { return fmt.Sprintf("data: {\"token\":\"%d\"}\n\n", n) }
	for media, size := range map[string]int{"text/event-stream": 0, "application/x-ndjson": capture.MaxBody} {
		synctest.Test(t, func(t *testing.T) {
			r := newVirtualRig(t, func(w http.ResponseWriter, in *http.Request) {
				if in.URL.Path == "/other" {
					_, _ = io.WriteString(w, "here")
					return
				}
				w.Header().Set("Content-Type", media)
				for n := range events {
					time.Sleep(interval)
					_, _ = io.WriteString(w, event(n))
					_ = http.NewResponseController(w).Flush()
				}
			})
			begun := time.Now()
			response, err := r.client.Get("http://localhost/stream")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			all := 0
			for n := range events {
				got := make([]byte, len(event(n)))
				if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != event(n) {
					t.Fatalf("event %d is %q: %v", n, got, err)
				}
				if late := time.Since(begun) - time.Duration(n+1)*interval; late != 0 {
					t.Fatalf("event %d came %v late", n, late)
				}
				all += len(got)
				if n%40 == 0 {
					if got := r.get("/other"); got != "200 here" {
						t.Errorf("meanwhile another request gets %q", got)
					}
					if kept := r.latest("GET /stream"); kept.End != capture.Pending {
						t.Errorf("meanwhile kept is %+v", kept)
					}
				}
			}
			if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
				t.Errorf("at the end come %q, %v", rest, err)
			}
			kept := r.latest("GET /stream")
			if kept.End != capture.Complete || kept.Took != time.Hour || kept.Received.Size != int64(all) || kept.Received.Cut {
				t.Errorf("kept is %+v", kept)
			}
			if isKept := kept.Evidence.Has(capture.Body); isKept != (size > 0) || len(kept.Received.Body) > size || strings.Contains(string(kept.Received.Body), `"7"`) {
				t.Errorf("of %s this is kept: %s", media, kept.Received.Body)
			}
			r.nothingIsHeld()
		})
	}
}

// TestWebSocketOfAnHour: a WebSocket on which nobody speaks stays open, and both may speak after an hour.
func TestWebSocketOfAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		r := newVirtualRig(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, in, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					ended <- err
					return
				}
				_, _ = io.WriteString(conn, "echo "+line)
			}
		})
		conn, err := r.front.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		in := bufio.NewReader(conn)
		response, err := http.ReadResponse(in, nil)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("got %v, %v", response, err)
		}
		for range 2 {
			time.Sleep(time.Hour / 2)
			_, _ = io.WriteString(conn, "hello\n")
			if line, err := in.ReadString('\n'); line != "echo hello\n" {
				t.Fatalf("got %q, %v", line, err)
			}
		}
		if kept := r.latest("GET /ws"); kept.End != capture.Pending {
			t.Errorf("meanwhile kept is %+v", kept)
		}
		_ = conn.Close()
		if err := <-ended; err == nil {
			t.Error("the app is not told that the client has gone")
		}
		if kept := r.latest("GET /ws"); kept.End != capture.Upgraded || kept.Took != time.Hour {
			t.Errorf("kept is %+v", kept)
		}
		r.nothingIsHeld()
	})
}

// TestAppThatHangs: a client waits for as long as it likes, and others are answered.
func TestAppThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		r := newVirtualRig(t, func(w http.ResponseWriter, in *http.Request) {
			if in.URL.Path == "/hang" {
				<-in.Context().Done()
				close(gone)
				return
			}
			_, _ = io.WriteString(w, "here")
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/hang", nil)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		begun := time.Now()
		go func() {
			response, err := r.client.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			failed <- err
		}()
		synctest.Wait()
		if got := r.get("/other"); got != "200 here" || time.Since(begun) != 0 {
			t.Errorf("meanwhile another request gets %q after %v", got, time.Since(begun))
		}
		if err := <-failed; err == nil || time.Since(begun) != time.Hour {
			t.Errorf("the client got %v after %v", err, time.Since(begun))
		}
		<-gone
		if kept := r.latest("GET /hang"); kept.End != capture.ClientGone || kept.Took != time.Hour || kept.Evidence != 0 {
			t.Errorf("kept is %+v", kept)
		}
	})
}

// buildOf returns the function by which a store makes what it keeps. Nothing that passes the proxy makes it fail, so tests
// have it fail here.
func buildOf(store *capture.Store) *func(capture.Raw) capture.Request {
	field := reflect.ValueOf(store).Elem().FieldByName("build")
	return (*func(capture.Raw) capture.Request)(unsafe.Pointer(field.UnsafeAddr()))
}

// TestCaptureFails: when keeping requests has failed ten times, nothing is captured for five minutes, and then again. All
// requests are answered meanwhile.
func TestCaptureFails(t *testing.T) {
	t.Parallel()
	const (
		failures = 10
		off      = 5 * time.Minute
	)
	synctest.Test(t, func(t *testing.T) {
		r := newVirtualRig(t, func(w http.ResponseWriter, in *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, "here is %s, as the request %t", in.URL.Path, in.Header.Get("X-Brakit-Request-Id") != "")
		})
		visit := func(path string) {
			t.Helper()
			if got, want := r.get(path), fmt.Sprintf("200 here is %s, as the request true", path); got != want {
				t.Errorf("the client gets %q, want %q", got, want)
			}
			synctest.Wait()
		}
		build := buildOf(r.store)
		synctest.Wait()
		works := *build
		*build = func(capture.Raw) capture.Request { panic("bang") }
		for range 2 { // it fails again when it is tried again
			for n := range failures {
				if r.store.Off() {
					t.Fatalf("it is off after %d failures", n)
				}
				visit("/fails")
			}
			before := r.store.Endpoints()[0].Total.Requests
			visit("/off")
			time.Sleep(off - time.Millisecond)
			visit("/off")
			if all := r.store.Requests(capture.Filter{Endpoint: "GET /off"}); !r.store.Off() || len(all) > 0 {
				t.Errorf("off is %t, and kept are %d requests", r.store.Off(), len(all))
			}
			if all := r.store.Endpoints(); len(all) != 1 || all[0].Total.Requests != before {
				t.Errorf("counted are %+v", all)
			}
			time.Sleep(time.Millisecond)
		}
		*build = works
		visit("/works")
		if kept := r.latest("GET /works"); kept.End != capture.Complete || !kept.Evidence.Has(capture.Body) {
			t.Errorf("kept is %+v", kept)
		}
		if n := strings.Count(r.log.String(), "nothing is captured for a while"); n != 2 {
			t.Errorf("it was logged %d times:\n%s", n, r.log.String())
		}
		r.nothingIsHeld()
	})
}
