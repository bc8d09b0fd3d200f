package httpapi

import (
	"bufio"
	"context"
	"errors"
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

// A brokenListener accepts nothing.
type brokenListener struct{}

func (*brokenListener) Accept() (net.Conn, error) { return nil, errors.New("broken") }
func (*brokenListener) Close() error              { return nil }
func (*brokenListener) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// A pipeListener accepts the connections it is given, so that a server can live
// in a bubble of fake time.
type pipeListener struct {
	brokenListener
	conns chan net.Conn
	done  chan struct{}
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

// pipe starts a server in the bubble and returns a connection to it.
func pipe(t *testing.T, g *gateway) net.Conn {
	client, _ := pipeTo(t, g, io.Discard)
	return client
}

// pipeTo is pipe with the server, and its log.
func pipeTo(t *testing.T, g *gateway, log io.Writer) (net.Conn, *Server) {
	o := g.options(log)
	o.Schedules = nil
	s := New(o)
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	client, server := net.Pipe()
	l.conns <- server
	t.Cleanup(func() {
		client.Close()
		if err := errors.Join(s.Shutdown(context.WithoutCancel(t.Context()), ShuttingDown), <-ended); err != nil {
			t.Error(err)
		}
	})
	return client, s
}

func post(path, body string, headers ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + strings.Join(headers, "") + "\r\n" + body
}

func write(t *testing.T, c net.Conn, request string) {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
}

// roundTrip writes raw bytes and reads one answer.
func roundTrip(t *testing.T, c net.Conn, answers *bufio.Reader, request string) answer {
	t.Helper()
	write(t, c, request)
	resp, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func TestStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := pipe(t, newGateway(t, nil))
		start := time.Now()
		write(t, c, "GET /channels/k/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		check.OK(t, err)
		lines := bufio.NewScanner(resp.Body)
		var got []string
		for len(got) < 5 && lines.Scan() {
			if lines.Text() != "" {
				got = append(got, lines.Text())
			}
		}
		if text := strings.Join(got, " "); !strings.HasPrefix(text, "retry: 1000 id: ") || !strings.HasSuffix(text, "-0 : connected : keep-alive : keep-alive") {
			t.Errorf("got %q", got)
		}
		if took := time.Since(start); took != 2*keepAlive {
			t.Errorf("two comments took %v", took)
		}
	})
}

// TestKeepAliveBringsThePlace has others talk on the channel: a client that comes
// again need not go back to before that.
func TestKeepAliveBringsThePlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, nil)
		c := pipe(t, g)
		m := g.submit(t, "k", "hold k").Message
		synctest.Wait()
		write(t, c, "GET "+messagePath(m.ID)+"/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		check.OK(t, err)
		g.Feeds.Publish("k", said("foreign", "another"))
		g.Feeds.Publish("k", said("foreign too", "another"))
		var got []string
		for lines := bufio.NewScanner(resp.Body); !strings.HasSuffix(strings.Join(got, " "), "keep-alive : keep-alive") && lines.Scan(); {
			if lines.Text() != "" {
				got = append(got, lines.Text())
			}
		}
		if text := strings.Join(got, " "); !strings.HasSuffix(text, "-2 : keep-alive : keep-alive") {
			t.Errorf("got %q", got)
		}
	})
}

// TestDeadStreamIsNoticed leaves a stream unread: it must end by itself.
func TestDeadStreamIsNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		c, _ := pipeTo(t, newGateway(t, nil), log)
		write(t, c, "GET /channels/k/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		const ended = "route=/channels/{key}/events"
		time.Sleep(streamWriteTimeout - time.Second)
		if strings.Contains(log.String(), ended) {
			t.Error("the stream has ended too soon")
		}
		time.Sleep(2 * time.Second)
		if !strings.Contains(log.String(), ended) {
			t.Error("a client that reads nothing is still served")
		}
	})
}

// TestLongWait holds that no deadline of the body or of the connection ends a
// wait.
func TestLongWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, nil)
		c := pipe(t, g)
		write(t, c, post("/message", `{"text":"hold k"}`, "Content-Length: 17\r\n"))
		time.Sleep(48 * time.Hour)
		g.agent.release(t, "k", core.Result{Text: "at last"})
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		check.OK(t, err)
		if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "at last") {
			t.Errorf("got %s, %v", body, err)
		}
	})
}
