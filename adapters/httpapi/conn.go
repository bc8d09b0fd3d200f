package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/adapters/httpapi/api"
)

// clientConn translates the errors written by net/http itself into errors of the API,
// and closes a connection only after the client has had time to read a refusal.
//
// net/http answers a request that cannot be parsed (no Host, bad percent-encoding,
// headers too large) in plain text, without a hook. All data written before a handler is
// called for the current request is a plain-text answer of net/http.
type clientConn struct {
	net.Conn
	draining  <-chan struct{} // closed when the server drains
	answering atomic.Bool     // a handler has been called for the current request
	linger    atomic.Int64    // Unix nanoseconds of the end of reading by Close; 0: Close does not read
	asked     sync.Once       // whether the peer is trusted
	isTrusted bool            // written by asked
}

type clientListener struct {
	net.Listener
	draining <-chan struct{}
}

// Accept implements net.Listener.
func (l clientListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &clientConn{Conn: c, draining: l.draining}, nil
}

// noteConnState ends the answer to the last request. noteConnState is meant for
// http.Server.ConnState, which is called with StateIdle after each complete answer.
func noteConnState(c net.Conn, state http.ConnState) {
	if own, ok := c.(*clientConn); ok && state == http.StateIdle {
		own.answering.Store(false)
	}
}

// Write writes errors of net/http as JSON, and all other data unchanged.
func (c *clientConn) Write(b []byte) (int, error) {
	if c.answering.Load() {
		return c.Conn.Write(b)
	}
	p := parseRefusal(b)
	if p == nil {
		return c.Conn.Write(b)
	}
	c.lingerOnClose()
	if _, err := c.Conn.Write(p.message()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite ends the sending direction, if the network supports half-closing.
func (c *clientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// lingerOnClose makes Close read on for lingerTimeout from now. The operating system
// resets a connection that is closed with unread bytes, and the reset may discard the
// answer before a still sending client has read the answer.
func (c *clientConn) lingerOnClose() {
	c.linger.CompareAndSwap(0, time.Now().Add(lingerTimeout).UnixNano())
}

// Close closes the connection, at once unless a refused client may still send. A second
// call, or the server's draining, ends the reading of the first.
func (c *clientConn) Close() error {
	if until := c.linger.Swap(0); until != 0 {
		c.discard(time.Unix(0, until))
	}
	return c.Conn.Close()
}

// discard reads until the client has finished, until the time or lingerBytes are used up, or
// until the server drains.
func (c *clientConn) discard(until time.Time) {
	if c.CloseWrite() != nil || c.SetReadDeadline(until) != nil {
		return
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-c.draining:
			_ = c.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection
		case <-over:
		}
	}()
	_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // the data is not used
}

// parseRefusal returns the problem for an error in the form written by net/http, or nil
// for all other data.
func parseRefusal(b []byte) *problem {
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	rest, ok := strings.CutPrefix(string(line), "HTTP/1.1 ")
	if !ok {
		return nil
	}
	code, reason, _ := strings.Cut(rest, " ")
	switch status, _ := strconv.Atoi(code); status { // 0 matches no case
	case http.StatusBadRequest:
		detail := "check its first line, the percent-encoding of the path and the form of the headers"
		if _, said, ok := strings.Cut(reason, ": "); ok { // a text of net/http
			detail = said
		}
		return badRequest(api.MalformedRequest, "This is not a valid HTTP request: %s.", detail)
	case http.StatusRequestHeaderFieldsTooLarge:
		return refuse(status, api.HeadersTooLarge,
			fmt.Sprintf("The first line and the headers are larger than %s; put what is long into the body.", bytesText(maxHeaderBytes)))
	case http.StatusNotImplemented:
		return refuse(status, api.UnsupportedEncoding, `The only Transfer-Encoding that is understood is "chunked".`)
	case http.StatusHTTPVersionNotSupported:
		return refuse(status, api.UnsupportedHTTPVersion, "Use HTTP/1.1.")
	case http.StatusExpectationFailed:
		return refuse(status, api.UnsupportedExpectation, `The only "Expect" header that is understood is "100-continue".`)
	default:
		return nil
	}
}

// message returns the problem as a whole HTTP response, after which the connection ends.
func (p *problem) message() []byte {
	body, _ := marshal(&p.body) // texts are always encoded
	body = append(body, '\n')
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
		"X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n%s",
		p.status, http.StatusText(p.status), len(body), body)
}

// A guard decides which clients may use the API. Checks run in a fixed order, before the
// lookup of the route and before the body is read: Host, origin, token, peer.
type guard struct {
	token   [sha256.Size]byte
	guarded bool // requests need the token
	hosts   map[string]bool
	cross   *http.CrossOriginProtection
	peer    func(net.Conn) (ok, known bool)
}

func newGuard(o Options) guard {
	g := guard{
		token: sha256.Sum256([]byte(o.Token)), guarded: o.Token != "",
		hosts: map[string]bool{"localhost": true},
		cross: http.NewCrossOriginProtection(), peer: o.Peer,
	}
	for _, h := range append([]string{o.Host}, o.AllowedHosts...) {
		if h = hostname(h); h != "" {
			g.hosts[h] = true
		}
	}
	return g
}

// A listener is the socket that received a request.
type listener int

const (
	tcpListener   listener = iota // the TCP address
	localListener                 // the Unix socket of the user's own programs
	innerListener                 // the Unix socket of a predecessor, which has checked its clients
)

// check returns why the request is refused, or nil. On the Unix sockets only the
// peer matters.
func (g *guard) check(r *http.Request, from listener) *problem {
	if from != tcpListener {
		return g.checkPeer(r)
	}
	if !g.knownHost(r.Host) {
		return refuse(http.StatusForbidden, api.ForeignHost,
			"The Host header names no host of this gateway; use a loopback address, or add the name to BARECLAW_ALLOWED_HOSTS.")
	}
	if !g.sameOrigin(r) {
		return refuse(http.StatusForbidden, api.ForeignOrigin, "Requests from web pages of another origin are refused.")
	}
	if g.guarded {
		return g.checkToken(r)
	}
	return g.checkPeer(r)
}

// knownHost prevents DNS rebinding: a web page can make its host name resolve to a
// loopback address, but the browser still sends the name as the Host.
func (g *guard) knownHost(host string) bool {
	name := hostname(host)
	if g.hosts[name] {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// hostname returns the host without port, brackets and final dot, in lower case.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// sameOrigin applies http.CrossOriginProtection to every method, because other web pages
// must not read replies to GET either. Programs other than browsers send neither header.
func (g *guard) sameOrigin(r *http.Request) bool {
	origins, sites := r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	if len(origins) == 0 && len(sites) == 0 {
		return true
	}
	if len(origins) > 1 || len(sites) > 1 {
		return false
	}
	for _, origin := range origins {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return false
		}
	}
	probe := http.Request{Method: http.MethodPost, Host: r.Host, URL: r.URL, Header: r.Header}
	return g.cross.Check(&probe) == nil
}

func (g *guard) checkToken(r *http.Request) *problem {
	if values := r.Header["Authorization"]; len(values) == 1 {
		scheme, token, _ := strings.Cut(values[0], " ")
		sum := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
		if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
			return nil
		}
	}
	return refuse(http.StatusUnauthorized, api.Unauthorized,
		"Send the token of BARECLAW_HTTP_TOKEN in the header \"Authorization: Bearer …\", and nowhere else.").with("WWW-Authenticate", "Bearer")
}

func (g *guard) checkPeer(r *http.Request) *problem {
	if g.peer == nil {
		return nil
	}
	if c := clientConnOf(r); c != nil && c.trusted(g.peer) {
		return nil
	}
	return refuse(http.StatusForbidden, api.ForeignUser,
		"Without a token only the user who runs the gateway may use it; set BARECLAW_HTTP_TOKEN to let others in.")
}

type connKey struct{}

// withClientConn stores the connection in the context of its requests; it is meant for the
// field ConnContext of http.Server.
func withClientConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// clientConnOf returns the connection of a request; nil without a server, in tests.
func clientConnOf(r *http.Request) *clientConn {
	c, _ := r.Context().Value(connKey{}).(*clientConn)
	return c
}

// trusted asks once whether the peer is known to be another user's.
func (c *clientConn) trusted(ask func(net.Conn) (ok, known bool)) bool {
	c.asked.Do(func() {
		ok, known := ask(c.Conn)
		c.isTrusted = ok || !known
	})
	return c.isTrusted
}
