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

	"github.com/go-json-experiment/json"

	"bareclaw/internal/testkit/check"
)

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

// TestMalformedRequestsAreAnsweredInJSON sends what net/http refuses before any
// handler is called.
func TestMalformedRequestsAreAnsweredInJSON(t *testing.T) {
	r := startRig(t, nil)
	const rest = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, c := range map[string]struct {
		request string
		status  int
		code    string
		text    string // part of the error
	}{
		"bad escape":        {"GET /channels/%zz" + rest, 400, "malformed_request", "percent"},
		"half an escape":    {"GET /channels/a%2" + rest, 400, "malformed_request", "percent"},
		"control character": {"GET /channels/a\x01b" + rest, 400, "malformed_request", ""},
		"no host":           {"GET /health HTTP/1.1\r\n\r\n", 400, "malformed_request", "Host"},
		"two hosts":         {"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "malformed_request", "headers"},
		"bad host":          {"GET /health HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "malformed_request", "Host"},
		"bad header name":   {"GET /health HTTP/1.1\r\nHost: localhost\r\na b: c\r\n\r\n", 400, "malformed_request", ""},
		"bad header value":  {"GET /health HTTP/1.1\r\nHost: localhost\r\na: \x01\r\n\r\n", 400, "malformed_request", ""},
		"no HTTP":           {"hello\r\n\r\n", 400, "malformed_request", ""},
		"TLS":               {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "malformed_request", ""},
		"two lengths":       {"POST /message HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "malformed_request", ""},
		"large headers":     {"GET /health HTTP/1.1\r\nHost: localhost\r\nx: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431, "headers_too_large", "64 KiB"},
		"transfer encoding": {"POST /message HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "unsupported_transfer_encoding", "chunked"},
		"version":           {"GET /health HTTP/3.0\r\nHost: localhost\r\n\r\n", 505, "unsupported_version", "HTTP/1.1"},
		"expectation":       {"POST /message HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n", 417, "unsupported_expectation", "100-continue"},
		"with a body": {
			"POST /channels/%zz/interrupt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat("x", 1<<20),
			400, "malformed_request", "percent",
		},
	} {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(name+" over "+network, func(t *testing.T) {
				t.Parallel()
				conn := r.dial(t, network)
				answers := bufio.NewReader(conn)
				// Also on a connection that has been used: what a handler says is left as it is.
				if a := roundTrip(t, conn, answers, "GET /openapi.yaml"+rest); a.status != http.StatusOK || !strings.HasPrefix(a.body, "openapi:") {
					t.Fatalf("a good request: got %d %.200s", a.status, a.body)
				}
				a := roundTrip(t, conn, answers, c.request)
				if a.status != c.status || a.header.Get("Content-Type") != "application/json" {
					t.Fatalf("got %d %v %q, want %d in JSON", a.status, a.header, a.body, c.status)
				}
				var body struct{ Error, Code string }
				if err := json.Unmarshal([]byte(a.body), &body, json.MatchCaseInsensitiveNames(true), json.RejectUnknownMembers(true)); err != nil {
					t.Fatalf("%q: %v", a.body, err)
				}
				if body.Code != c.code || body.Error == "" || !strings.Contains(body.Error, c.text) {
					t.Errorf("got %+v, want %s with %q", body, c.code, c.text)
				}
				if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" {
					t.Errorf("headers %v", a.header)
				}
				if b, err := io.ReadAll(answers); len(b) > 0 || err != nil {
					t.Errorf("after the answer came %q, %v; want the end", b, err)
				}
			})
		}
	}
}

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
		write(t, c, "GET /%zz HTTP/1.1\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusBadRequest {
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
