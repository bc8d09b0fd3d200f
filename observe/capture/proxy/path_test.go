package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestPathAsSent: the app gets the path as the client has sent it.
func TestPathAsSent(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }))
	t.Cleanup(app.Close)
	p := New(Options{})
	u, err := url.Parse(app.URL)
	check.OK(t, err)
	check.OK(t, p.SetTarget(u))
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	for _, path := range []string{"/a%2Fb", "/a|b", "/a%2Fb|c", "/files/x%2F..%2Fy^z", "/a%7Cb"} {
		conn, err := net.Dial("tcp", front.Listener.Addr().String())
		check.OK(t, err)
		_, err = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		check.OK(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		check.OK(t, err)
		got, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		_ = conn.Close()
		if string(got) != path {
			t.Errorf("the app gets %s for %s", got, path)
		}
	}
}
