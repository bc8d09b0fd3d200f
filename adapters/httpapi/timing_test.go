package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
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
func pipe(t *testing.T, f *fake) net.Conn {
	client, _ := pipeTo(t, f)
	return client
}

// pipeTo is pipe with the server.
func pipeTo(t *testing.T, f *fake) (net.Conn, *Server) {
	s := newServer(Options{
		Log: slog.New(slog.DiscardHandler), Health: func() Health { return Health{} }, Push: &core.PushRegistry{},
	}, f)
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

func TestStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := pipe(t, newFake(t))
		start := time.Now()
		write(t, c, "GET /channels/k/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		var got []string
		for len(got) < 5 && lines.Scan() {
			if lines.Text() != "" {
				got = append(got, lines.Text())
			}
		}
		if want := "retry: 1000 id: fake-0 : connected : keep-alive : keep-alive"; strings.Join(got, " ") != want {
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
		f := newFake(t)
		c := pipe(t, f)
		if _, err := f.Submit(t.Context(), core.Submission{Channel: "k", Adapter: "http", Mode: core.Collect, Content: core.Content{Text: "a"}}); err != nil {
			t.Fatal(err)
		}
		write(t, c, "GET "+eventsA+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		f.publish("k", said("foreign"), said("foreign too"))
		var got []string
		for lines := bufio.NewScanner(resp.Body); len(got) < 8 && lines.Scan(); {
			if lines.Text() != "" {
				got = append(got, lines.Text())
			}
		}
		if want := "id: fake-2 : keep-alive : keep-alive"; !strings.HasSuffix(strings.Join(got, " "), want) {
			t.Errorf("got %q, want at its end %s", got, want)
		}
	})
}

// TestDeadStreamIsNoticed leaves a stream unread: it must end by itself.
func TestDeadStreamIsNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c := pipe(t, f)
		write(t, c, "GET /channels/k/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		synctest.Wait()
		if n := f.listeners("k"); n != 1 {
			t.Fatalf("%d listeners", n)
		}
		time.Sleep(streamWriteTimeout + time.Second)
		synctest.Wait()
		if n := f.listeners("k"); n != 0 {
			t.Error("a client that reads nothing is still served")
		}
	})
}

func TestSlowBodyIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := pipe(t, newFake(t))
		start := time.Now()
		write(t, c, post("/message", `{"text":`, "Content-Length: 100\r\n"))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "incomplete_body") {
			t.Errorf("got %d %s, %v", resp.StatusCode, body, err)
		}
		if took := time.Since(start); took != bodyTimeout {
			t.Errorf("it took %v", took)
		}
	})
}

// TestLongWait holds that no deadline of the body or of the connection ends a
// wait.
func TestLongWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c := pipe(t, f)
		write(t, c, post("/message", `{"text":"a"}`, "Content-Length: 12\r\n"))
		time.Sleep(48 * time.Hour)
		f.settle("01890000-0000-7000-8000-000000000001", core.Reply{State: core.Answered, Text: "at last"})
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "at last") {
			t.Errorf("got %s, %v", body, err)
		}
	})
}
