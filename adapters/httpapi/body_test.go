package httpapi

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// withBodies are requests that take a body, each for another way of reading it.
var withBodies = []string{"POST /message", "PATCH /channels/k", "POST /channels/k/interrupt", "POST /mcp", "POST /mcp/bags/all", "POST /toolhost/call", "POST /toolhost/reload"}

// serveTools serves the paths of the tool host until the server is shut down, and returns the address.
func (r *rig) serveTools() string {
	r.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(r, err)
	go func() {
		if err := r.server.ServeTools(l); err != nil {
			r.Error(err)
		}
	}()
	return l.Addr().String()
}

// TestSlowBodiesAreGivenUp: a body has a deadline on each route, also where nobody reads the body.
func TestSlowBodiesAreGivenUp(t *testing.T) {
	t.Parallel()
	for _, op := range append([]string{"GET /health", "DELETE /channels/k", "POST /none"}, withBodies...) {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := pipe(t, newGateway(t, nil))
				start := time.Now()
				write(t, c, op+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
				answer, err := io.ReadAll(c) // until the server closes the connection
				check.OK(t, err)
				if took := time.Since(start); took > bodyTimeout+lingerTimeout {
					t.Errorf("the connection was open for %v; got %s", took, answer)
				}
			})
		})
	}
}

// TestBodiesAreJSON sends each route a body, also to those that read none: a web page can send other
// types without asking first.
func TestBodiesAreJSON(t *testing.T) {
	r := startRig(t, nil)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	tools := "http://" + r.serveTools()
	for _, rt := range allRoutes() {
		method, path := rt.method, strings.NewReplacer("{key}", "k", "{id}", "none", "{name}", "mine").Replace(rt.pattern)
		urls := []string{r.url + path}
		if below, is := strings.CutPrefix(path, "/toolhost"); is {
			urls = append(urls, tools+below)
		}
		for _, url := range urls {
			for _, contentType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", "application/jsonp"} {
				req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
				check.OK(t, err)
				req.Header["Content-Type"] = []string{contentType}
				r.want(r.do(client, req), http.StatusUnsupportedMediaType, "unsupported_media_type")
			}
			if strings.HasSuffix(path, "/events") {
				continue // an answer without an end
			}
			req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
			check.OK(t, err)
			if a := r.do(client, req); a.status == http.StatusUnsupportedMediaType {
				t.Errorf("%s %s without a body: got %d %s", method, url, a.status, a.body)
			}
		}
	}
}

// TestBodiesUnderWayAreBounded has clients that send large bodies and do not finish them, on all
// listeners: further ones are refused until the others have gone.
func TestBodiesUnderWayAreBounded(t *testing.T) {
	const size, limit = 1 << 20, 16 << 20
	r := startRig(t, func(o *Options) { o.BodyLimit = size + 1 })
	r.server.bodies.limit = limit
	tools := r.serveTools()
	paths := []string{"/message", "/mcp", "/mcp/bags/all", "/toolhost/call"}
	var held []net.Conn
	for i := range limit / size {
		address, path := strings.TrimPrefix(r.url, "http://"), paths[i%len(paths)]
		if i%4 == 3 {
			address, path = tools, "/call"
		}
		c, err := net.Dial("tcp", address)
		check.OK(t, err)
		held = append(held, c)
		t.Cleanup(func() { c.Close() })
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{%s", path, size+1, strings.Repeat(" ", size-1))
		check.OK(t, err)
	}
	check.Eventually(t, time.Minute, "the bodies have arrived", func() bool { return r.server.bodies.held.Load() == limit })
	for _, op := range withBodies {
		method, path, _ := strings.Cut(op, " ")
		a := r.do(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, r.request(method, path, `{"text":"a"}`))
		r.want(a, http.StatusServiceUnavailable, "too_many_bodies")
		if a.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", op)
		}
	}
	r.want(r.send("GET", "/health", ""), http.StatusOK, "") // needs no body
	for _, c := range held {
		c.Close()
	}
	check.Eventually(t, time.Minute, "the bodies are gone", func() bool { return r.server.bodies.held.Load() == 0 })
	r.want(r.send("POST", "/message", `{"text":"a"}`), http.StatusOK, "")
}

// TestAHeldMessageHoldsNoBody: the body of a message is core's once the message is accepted.
func TestAHeldMessageHoldsNoBody(t *testing.T) {
	r := startRig(t, func(o *Options) { o.BodyLimit = 8 << 20 })
	for i, size := range []int{1, 4 << 20} {
		for j, headers := range []string{"", "Accept: text/event-stream\r\n"} {
			c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
			check.OK(t, err)
			t.Cleanup(func() { c.Close() })
			channel := fmt.Sprint(i, j)
			next := r.watch(t, core.ChannelKey("k"+channel))
			body := `{"channel":"k` + channel + `","text":"hold k` + channel + strings.Repeat(" ", size) + `"}`
			_, err = fmt.Fprintf(c, "POST /message HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", headers, len(body), body)
			check.OK(t, err)
			next(core.UpdateStarted)
			check.Eventually(t, time.Minute, "the body is released", func() bool { return r.server.bodies.held.Load() == 0 })
		}
	}
}
