package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"bareclaw/observe/capture"
)

// reset ends a connection as the kernel does for a process that has crashed with data unread.
func reset(c net.Conn) {
	tcp := c.(*net.TCPConn)
	_ = tcp.SetLinger(0)
	_ = tcp.Close()
}

// TestAppResets: before the response the client is told, and within it the response is cut for the client too.
func TestAppResets(t *testing.T) {
	t.Parallel()
	r := newRig(t, http.NotFoundHandler())
	got := make(chan struct{})
	first := true
	r.raw(func(c net.Conn, _ *bufio.Reader) {
		if !first {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\npart")
			<-got
		}
		first = false
		reset(c)
	})
	response, text := r.do(r.request(http.MethodPost, "/a", http.NoBody))
	if response.StatusCode != http.StatusBadGateway || !strings.Contains(text, "closed the connection before it answered") {
		t.Errorf("got %s: %s", response.Status, text)
	}
	if kept := r.look(); kept.End != capture.AppFailed || kept.Status != 0 || kept.Evidence != 0 {
		t.Errorf("kept is %+v", kept)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(r.request(http.MethodPost, "/b", http.NoBody))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	part := make([]byte, len("part"))
	if _, err := io.ReadFull(response.Body, part); err != nil || string(part) != "part" {
		t.Errorf("first comes %q, %v", part, err)
	}
	close(got)
	if rest, err := io.ReadAll(response.Body); err == nil || len(rest) > 0 {
		t.Errorf("and then %q without an error", rest)
	}
	if kept := r.look(); kept.End != capture.AppFailed || kept.Status != http.StatusOK || kept.Evidence != 0 || string(kept.Received.Body) != "part" {
		t.Errorf("kept is %+v", kept)
	}
}

// TestWrongLengths: what an app says of the length of a response does not lead to another response than its own, nor does
// another request get what is left.
func TestWrongLengths(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
	for name, c := range map[string]struct {
		answer string
		status int
		body   string
		isCut  bool
		end    capture.End
	}{
		"two lengths":           {ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502, "", false, capture.AppFailed},
		"the same length twice": {ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", 200, "ab", false, capture.Complete},
		"less than nothing":     {ok + "Content-Length: -1\r\n\r\nab", 502, "", false, capture.AppFailed},
		"more than there is":    {ok + "Content-Length: 9\r\n\r\nab", 200, "ab", true, capture.AppFailed},
		"more than a number":    {ok + "Content-Length: 99999999999999999999\r\n\r\nab", 502, "", false, capture.AppFailed},
		"a length of chunks":    {ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", 200, "ab", false, capture.Complete},
		"a chunk that is none":  {ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n", 200, "ab", true, capture.AppFailed},
		"a response behind":     {ok + "Content-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 200, "ab", false, capture.Complete},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, http.NotFoundHandler())
			r.raw(func(conn net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(conn, c.answer) })
			for range 3 {
				transport := &http.Transport{}
				defer transport.CloseIdleConnections()
				response, err := transport.RoundTrip(r.request(http.MethodPost, "/a", http.NoBody))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if response.StatusCode != c.status || c.status == http.StatusOK && string(body) != c.body || (err != nil) != c.isCut {
					t.Errorf("the client got %s, %q, %v", response.Status, body, err)
				}
				if kept := r.look(); kept.End != c.end || kept.Evidence.Has(capture.Response) != (c.end == capture.Complete) {
					t.Errorf("kept is %+v", kept)
				}
			}
		})
	}
}

// TestBodyIsNotWanted: an app that refuses a request at once does not have its client send the body.
func TestBodyIsNotWanted(t *testing.T) {
	t.Parallel()
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "who are you?")
	}))
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusUnauthorized || string(body) != "who are you?" || err != nil {
		t.Errorf("got %s, %q, %v", response.Status, body, err)
	}
	if kept := r.look(); kept.Status != http.StatusUnauthorized || kept.End != capture.Complete || kept.Sent.Size != 0 {
		t.Errorf("kept is %+v", kept)
	}
}

// TestUploaderIsGone: the app gets the cut body as one that is cut, and is not to blame.
func TestUploaderIsGone(t *testing.T) {
	t.Parallel()
	read := make(chan error, 1)
	begun := make(chan struct{})
	r := newRig(t, http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		_, err := io.ReadFull(in.Body, make([]byte, len("part")))
		close(begun)
		if err == nil {
			_, err = io.ReadAll(in.Body)
		}
		read <- err
	}))
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\npart")
	<-begun
	reset(conn)
	if err := <-read; err == nil {
		t.Error("the app takes what has come for the whole")
	}
	if kept := r.look(); kept.End != capture.ClientGone || kept.Status != 0 || kept.Evidence != 0 || kept.Sent.Size != int64(len("part")) {
		t.Errorf("kept is %+v", kept)
	}
}

// TestPackedBodies: what unpacks to more than is kept is unpacked that far alone, and what is broken proves nothing.
func TestPackedBodies(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.CopyN(z, repeater(bytes.Repeat([]byte("{"), 1<<20)), size)
	_ = z.Close()
	if packed.Len() > capture.MaxBody {
		t.Fatalf("%d bytes are not kept whole", packed.Len())
	}
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}))
	response, body := r.get("/a")
	if body != packed.String() || response.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("the client got %d bytes as %v", len(body), response.Header)
	}
	kept := r.look()
	if len(kept.Received.Body) != capture.MaxBody || !kept.Received.Cut || kept.Evidence.Has(capture.Body) || kept.Received.Size != int64(packed.Len()) {
		t.Errorf("kept are %d bytes, cut %t, with %v", len(kept.Received.Body), kept.Received.Cut, kept.Evidence)
	}
}

// TestWebSocketsEnd: whoever ends a WebSocket, the other one is told.
func TestWebSocketsEnd(t *testing.T) {
	t.Parallel()
	const upgrade = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	ended := make(chan error, 1)
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			ended <- err
			return
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nKey: %s\r\n\r\n", in.Header.Get("Sec-WebSocket-Key"))
		for {
			line, err := buffered.ReadString('\n')
			if err != nil || line == "crash\n" {
				ended <- err
				reset(conn)
				return
			}
			_, _ = io.WriteString(conn, line)
		}
	}))
	for _, words := range []string{"leave", "crash"} {
		conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, upgrade)
		in := bufio.NewReader(conn)
		response, err := http.ReadResponse(in, nil)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Key") != "dGhlIHNhbXBsZSBub25jZQ==" {
			t.Fatalf("got %v, %v", response, err)
		}
		big := strings.Repeat("x", 1<<20) + "\n"
		go func() { _, _ = io.WriteString(conn, big) }() // ends when the app has read it, or with the connection
		if line, err := in.ReadString('\n'); line != big {
			t.Fatalf("got %d bytes, %v", len(line), err)
		}
		if words == "crash" {
			_, _ = io.WriteString(conn, "crash\n")
			if _, err := in.ReadString('\n'); err == nil {
				t.Error("the client is not told that the app has crashed")
			}
			if err := <-ended; err != nil {
				t.Errorf("the app got %v", err)
			}
		} else {
			reset(conn)
			if err := <-ended; err == nil {
				t.Error("the app is not told that the client has gone")
			}
		}
		if kept := r.look(); kept.End != capture.Upgraded || kept.Status != http.StatusSwitchingProtocols || kept.Evidence != 0 {
			t.Errorf("%s: kept is %+v", words, kept)
		}
	}
}

// TestStreamerIsGone: an app learns that nobody reads its stream any more, within a body that it has not finished.
func TestStreamerIsGone(t *testing.T) {
	t.Parallel()
	stopped := make(chan error, 1)
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for in.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: x\n\n"); err != nil {
				break
			}
			_ = http.NewResponseController(w).Flush()
		}
		stopped <- context.Cause(in.Context())
	}))
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	in := bufio.NewReader(conn)
	for line := ""; line != "data: x\n"; {
		if line, err = in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	reset(conn)
	if err := <-stopped; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the app stops for %v", err)
	}
	if kept := r.look(); kept.End != capture.ClientGone || kept.Status != http.StatusOK || kept.Evidence != 0 {
		t.Errorf("kept is %+v", kept)
	}
}
