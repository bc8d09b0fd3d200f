package httpapi

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/testkit/check"
)

// dial connects to the server without any client.
func (r *rig) dial(t *testing.T, network string) net.Conn {
	t.Helper()
	address := strings.TrimPrefix(r.url, "http://")
	if network == "unix" {
		address = r.socket
	}
	c, err := net.Dial(network, address)
	check.OK(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestRefusalIsSeenByAClientThatSendsOn has a client that writes all of its body
// before it reads: more than fits into the socket's buffers.
func TestRefusalIsSeenByAClientThatSendsOn(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 4<<20)
	for name, c := range map[string]struct {
		headers string
		chunked bool
		status  int
	}{
		"length":          {"Authorization: Bearer right\r\nContent-Type: application/json\r\n", false, http.StatusRequestEntityTooLarge},
		"chunked":         {"Authorization: Bearer right\r\nContent-Type: application/json\r\n", true, http.StatusRequestEntityTooLarge},
		"impatient":       {"Authorization: Bearer right\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n", false, http.StatusRequestEntityTooLarge},
		"no token":        {"Content-Type: application/json\r\n", false, http.StatusUnauthorized},
		"another content": {"Authorization: Bearer right\r\nContent-Type: text/plain\r\n", true, http.StatusUnsupportedMediaType},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *Options) { o.Token = "right" })
			conn := r.dial(t, "tcp")
			check.OK(t, conn.(*net.TCPConn).SetWriteBuffer(64<<10))
			head := "POST /message HTTP/1.1\r\nHost: localhost\r\n" + c.headers
			if c.chunked {
				head += "Transfer-Encoding: chunked\r\n\r\n400000\r\n"
			} else {
				head += "Content-Length: 4194304\r\n\r\n"
			}
			if _, err := io.Copy(conn, strings.NewReader(head+body)); err != nil {
				t.Fatalf("the client cannot send its body: %v", err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("the client does not see the answer: %v", err)
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != c.status {
				t.Errorf("got %d %s, %v, want %d", resp.StatusCode, b, err, c.status)
			}
		})
	}
}

// TestReadingOnIsBounded has clients that send for ever after they were refused: slowly,
// which ends after five seconds, and fast, which ends after so many bytes.
func TestReadingOnIsBounded(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"slow": 100 * time.Millisecond, "fast": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := pipe(t, newGateway(t, nil))
				seen := make(chan *http.Response, 1)
				go func() {
					resp, err := http.ReadResponse(bufio.NewReader(c), nil)
					if err != nil {
						t.Error(err)
					}
					seen <- resp
				}()
				write(t, c, post("/message", "", "Content-Length: 1000000000000\r\n"))
				resp := <-seen
				if resp.StatusCode != http.StatusRequestEntityTooLarge {
					t.Fatalf("got %d", resp.StatusCode)
				}
				start, sent, err := time.Now(), 0, error(nil)
				for block := make([]byte, 64<<10); err == nil && sent <= 2*lingerBytes; time.Sleep(pause) {
					_, err = c.Write(block)
					sent += len(block)
				}
				took := time.Since(start)
				if !errors.Is(err, io.ErrClosedPipe) {
					t.Fatalf("after %v and %d bytes: %v", took, sent, err)
				}
				if pause > 0 && (took < lingerTimeout || took > 2*lingerTimeout) {
					t.Errorf("the slow client was heard for %v", took)
				}
				if pause == 0 && sent < lingerBytes {
					t.Errorf("%d bytes of the fast client were read", sent)
				}
			})
		})
	}
}

// TestShutdownDoesNotWaitForRefusedClients has one that says nothing more.
func TestShutdownDoesNotWaitForRefusedClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := pipeTo(t, newGateway(t, nil), io.Discard)
		write(t, c, post("/message", "", "Content-Length: 1000000000000\r\n"))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Fatalf("got %v, %v", resp, err)
		}
		start := time.Now()
		if err := s.Shutdown(t.Context(), ShuttingDown); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took >= lingerTimeout {
			t.Errorf("it took %v", took)
		}
	})
}
