package security

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// smuggled is a request that must never be heard: attacks hide it in the body of another one.
const smuggled = "POST /message HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n{\"text\":\"echo smuggled\"}"

// A raw is what is sent on one connection, and how the first answer begins: its status, and the code
// of a refusal.
type raw struct{ name, sent, want string }

// get is a request with a header line, or several.
func get(path string, headers ...string) string {
	return "GET " + path + " HTTP/1.1\r\nConnection: close\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n"
}

// hosts are requests whose Host, or what stands for it, is not the gateway's.
func hosts() (all []raw) {
	for _, host := range []string{
		"evil.example", "evil.example:3000", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1.nip.io", "notlocalhost", "2130706433", "0x7f000001", "017700000001",
		"0177.0.0.1", "127.1", "0.0.0.0", "[::]", "[::ffff:10.0.0.1]", "[fe80::1%25lo]", "10.0.0.1", "",
	} {
		all = append(all, raw{"Host: " + host, get("/health", "Host: "+host), "403 foreign_host"})
	}
	return append(all,
		raw{"no Host", get("/health"), "400"},
		raw{"two of Host", get("/health", "Host: localhost", "Host: evil.example"), "400"},
		raw{"a folded Host", get("/health", "Host: localhost", " .evil.example"), "400"},
		raw{"a blank in Host", get("/health", "Host: localhost evil.example"), "400"},
		raw{"a blank before the colon", get("/health", "Host : localhost"), "400"},
		raw{"absolute form", get("http://evil.example/health", "Host: localhost"), "403 foreign_host"},
		raw{"HTTP/1.0 without Host", "GET /health HTTP/1.0\r\n\r\n", "403 foreign_host"},
		raw{"HTTP/0.9", "GET /health\r\n\r\n", "400"},
		raw{"CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nConnection: close\r\n\r\n", "403 foreign_host"},
		raw{"another name as a user", get("/health", "Host: localhost:3000@evil.example"), "400"},
		raw{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "403 foreign_host"},
		raw{"an upgrade to HTTP/2", get("/health", "Host: localhost", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), "200"},
	)
}

// pages are requests as web pages make them, and proxies.
func pages() (all []raw) {
	for _, header := range []string{
		"Origin: http://localhost", "Origin: https://evil.example", "Origin: null", "Origin:", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none",
		"Sec-Fetch-Site: cross-site", "sec-fetch-dest: empty", "SEC-FETCH-USER: ?1", "Access-Control-Request-Method: PATCH\r\nOrigin: https://evil.example",
	} {
		all = append(all, raw{header, get("/health", "Host: localhost", header), "403 foreign_origin"})
	}
	for _, header := range []string{"Forwarded: for=10.0.0.1", "Via: 1.1 proxy", "X-Real-IP: 10.0.0.1", "X-Forwarded-For: 10.0.0.1", "x-forwarded-proto: https", "CF-Connecting-IP: 10.0.0.1"} {
		all = append(all, raw{header, get("/health", "Host: localhost", header), "403 proxy_without_token"})
	}
	return append(all,
		raw{"an unknown token", get("/health", "Host: localhost", "Authorization: Bearer guessed"), "401 unauthorized"},
		raw{"the script of a service worker", get("/sw.js", "Host: localhost", "Service-Worker: script"), "404 not_found"},
		raw{"as Node's fetch", get("/health", "Host: localhost", "Sec-Fetch-Mode: cors", "Accept-Language: *"), "200"},
	)
}

// framings are requests whose end two programs could see in two places, with another request behind
// one of them.
func framings() []raw {
	post := func(headers, body string) string {
		return "POST /message HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n" + headers + "\r\n" + body
	}
	const chunked = "Transfer-Encoding: chunked\r\n"
	return []raw{
		{"a length and chunks, on a connection that is kept", strings.Replace(post("Content-Length: 5\r\n"+chunked, "0\r\n\r\n"+smuggled), "Connection: close\r\n", "", 1), "400"},
		{"a length and chunks", post("Content-Length: 5\r\n"+chunked, "0\r\n\r\n"+smuggled), "400"},
		{"chunks and a length", post(chunked+"Content-Length: 5\r\n", "0\r\n\r\n"+smuggled), "400"},
		{"two lengths", post("Content-Length: 2\r\nContent-Length: 200\r\n", "{}"+smuggled), "400"},
		{"a list of lengths", post("Content-Length: 2, 200\r\n", "{}"+smuggled), "400"},
		{"a length with a sign", post("Content-Length: +2\r\n", "{}"+smuggled), "400"},
		{"a negative length", post("Content-Length: -2\r\n", "{}"+smuggled), "400"},
		{"a hexadecimal length", post("Content-Length: 0x2\r\n", "{}"+smuggled), "400"},
		{"a blank before the colon", post("Content-Length : 2\r\n", "{}"+smuggled), "400"},
		{"another transfer encoding", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"+smuggled), "501"},
		{"chunked twice", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"+smuggled), "501"},
		{"an encoding that resembles chunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"+smuggled), "501"},
		{"a folded header", post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"+smuggled), "400"},
		{"a bare CR in a header", post("X: a\rTransfer-Encoding: chunked\r\n", "0\r\n\r\n"+smuggled), "400"},
		{"NUL in a header", post("X: a\x00\r\n", smuggled), "400"},
		{"a chunk size with a sign", post(chunked, "+2\r\n{}\r\n0\r\n\r\n"+smuggled), "400"},
		{"a chunk size with a prefix", post(chunked, "0x2\r\n{}\r\n0\r\n\r\n"+smuggled), "400"},
		{"a huge chunk size", post(chunked, "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n"+smuggled), "400"},
		{"a chunk that is longer than it says", post(chunked, "2\r\n{} \r\n0\r\n\r\n"+smuggled), "400"},
		{"a length in a trailer", post(chunked+"Trailer: Content-Length\r\n", "2\r\n{}\r\n0\r\nContent-Length: 200\r\n\r\n"), "400"},
		{"a body of another type", post("Content-Length: 2\r\nContent-Encoding: gzip\r\n", "{}"), "415"},
		{"a body that is not announced", "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" + smuggled, "200"},
		{"70 kB of headers", get("/health", "Host: localhost", "X: "+strings.Repeat("x", 70<<10)), "431"},
		{"12,000 headers", get("/health", "Host: localhost", strings.Repeat("X: y\r\n", 12_000)+"X: y"), "431"},
		{"a line break in the path", "GET /health\r\nHost: localhost HTTP/1.1\r\n\r\n", "400"},
		{"a path out of the tree", get("/../../etc/passwd", "Host: localhost"), "404"},
	}
}

// TestRequestsOfStrangersAreRefused sends what attackers send, byte for byte, to the address of the API
// and to that of the tool host. Nothing hidden in a request is heard, and no page may read an answer.
func TestRequestsOfStrangersAreRefused(t *testing.T) {
	t.Parallel()
	tools := "127.0.0.1:" + harness.FreePort(t)
	m := harness.NewMachine(t, "BARECLAW_TOOLHOST_ADDR="+tools)
	g := m.Start()
	m.Eventually("the tool host runs", func() bool {
		return strings.HasPrefix(exchange(t, tools, get("/health", "Host: localhost")), "HTTP/1.1 200 ")
	})
	attack := func(t *testing.T, rows []raw) {
		for _, row := range rows {
			for _, address := range []string{strings.TrimPrefix(g.Base, "http://"), tools} {
				answer := exchange(t, address, row.sent)
				got := outcome(answer)
				if address == tools && got == "404 not_found" && strings.HasPrefix(row.sent, "POST /message ") {
					got = row.want // the path is none of the tool host's; that nothing is heard is looked at below
				}
				if got != row.want && !strings.HasPrefix(got, row.want+" ") {
					t.Errorf("%s at %s: got %s, want %s", row.name, address, got, row.want)
				}
				if n := strings.Count(answer, "HTTP/1.1 "); n > 1 {
					t.Errorf("%s at %s: %d answers:\n%s", row.name, address, n, answer)
				}
				if strings.Contains(strings.ToLower(answer), "access-control-") {
					t.Errorf("%s at %s: a page may read the answer:\n%s", row.name, address, answer)
				}
			}
		}
	}
	t.Run("Host", func(t *testing.T) { attack(t, hosts()) })
	t.Run("pages and proxies", func(t *testing.T) { attack(t, pages()) })
	t.Run("framing", func(t *testing.T) { attack(t, framings()) })
	if n := m.Begun("smuggled"); n != 0 || g.Balanced() != 0 {
		t.Errorf("%d hidden requests were heard", n)
	}
}

// exchange sends bytes on one connection, and returns all that is answered.
func exchange(t *testing.T, address, sent string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	check.OK(t, err)
	defer func() { _ = c.Close() }()
	check.OK(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, _ = io.WriteString(c, sent) // the answer may come before everything is sent
	answer, _ := io.ReadAll(c)     // a reset ends it too
	return string(answer)
}

var (
	statusLine = regexp.MustCompile(`^HTTP/1\.[01] (\d{3}) `)
	errorCode  = regexp.MustCompile(`"code":"(\w+)"`)
)

// outcome returns the status of the first answer and the code in it.
func outcome(answer string) string {
	status := statusLine.FindStringSubmatch(answer)
	if status == nil {
		return fmt.Sprintf("%.100q", answer)
	}
	if code := errorCode.FindStringSubmatch(answer); code != nil {
		return status[1] + " " + code[1]
	}
	return status[1]
}

// TestOtherUsersAreNotHeard has another user send messages and close at once, in the hope that the
// gateway no longer knows whose the connection was.
func TestOtherUsersAreNotHeard(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		roottest.Unavailable(t, "a caller of another user: only root can start one")
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		roottest.Unavailable(t, "a caller of another user: %v", err)
	}
	m := harness.NewMachine(t)
	g := m.Start()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(g.Base, "http://"))
	check.OK(t, err)
	const nobody = 65534
	cmd := exec.Command(shell, "-c", `
		for i in {1..100}; do exec 3<>/dev/tcp/127.0.0.1/"$0" && printf %s "$1" >&3; exec 3>&-; done
		exec 3<>/dev/tcp/127.0.0.1/"$0" && printf %s "$1" >&3 && head -n1 <&3`, port, smuggled)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.Output()
	check.OK(t, err)
	if !strings.HasPrefix(string(out), "HTTP/1.1 403 ") {
		t.Errorf("another user gets %q", out)
	}
	if n := m.Begun("smuggled"); n != 0 || g.Balanced() != 0 {
		t.Errorf("%d messages of another user were heard", n)
	}
}
