package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// TestAnswerBeforeTheBodyEnds: an app that begins to answer before it has the whole body gets all of it, and the
// client gets the beginning of the answer before it has sent the rest.
func TestAnswerBeforeTheBodyEnds(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		check.OK(t, rc.EnableFullDuplex())
		w.WriteHeader(http.StatusOK)
		check.OK(t, rc.Flush())
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, " ", err)
	}))
	t.Cleanup(app.CloseClientConnections)
	p := New(Options{})
	u, err := url.Parse(app.URL)
	check.OK(t, err)
	check.OK(t, p.SetTarget(u))
	front := httptest.NewServer(p)
	t.Cleanup(front.CloseClientConnections)
	for _, at := range []string{app.Listener.Addr().String(), front.Listener.Addr().String()} {
		conn, err := net.Dial("tcp", at)
		check.OK(t, err)
		defer func() { _ = conn.Close() }()
		check.OK(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		half := string(make([]byte, 1000))
		_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n"+half)
		check.OK(t, err)
		in := bufio.NewReader(conn)
		if _, err := in.Peek(1); err != nil {
			t.Errorf("%s: no answer begins before the rest is sent: %v", at, err)
		}
		_, err = io.WriteString(conn, half)
		check.OK(t, err)
		res, err := http.ReadResponse(in, nil)
		check.OK(t, err)
		text, err := io.ReadAll(res.Body)
		check.OK(t, err)
		if string(text) != "2000 <nil>" {
			t.Errorf("%s: the app got %q", at, text)
		}
		check.OK(t, res.Body.Close())
	}
}
