// Package proxy passes requests on to a web app, and tells a [capture.Store] what passed.
package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/observe/capture"
)

// Options are what a Proxy is made with.
type Options struct {
	Store *capture.Store
	Log   *slog.Logger
	// Refuse says why requests must not go to the address, host:port, or returns "". It may be nil.
	Refuse func(address string) string
}

// A Proxy is the handler of all requests to an app. It must be served on loopback alone.
type Proxy struct {
	store   *capture.Store
	log     *slog.Logger
	refuse  func(address string) string
	reverse *httputil.ReverseProxy
	seed    maphash.Seed
	target  atomic.Pointer[target]
}

// A target is where the app listens.
type target struct {
	url       *url.URL
	transport *http.Transport
}

// New returns a proxy without a target: until SetTarget it answers that the app is not up.
func New(o Options) *Proxy {
	p := &Proxy{
		store:  o.Store,
		log:    o.Log,
		refuse: o.Refuse,
		seed:   maphash.MakeSeed(),
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      p,
		FlushInterval:  -1,
		BufferPool:     &bufferPool{},
		ModifyResponse: p.received,
		ErrorHandler:   p.failed,
		ErrorLog:       slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	return p
}

// SetTarget makes the proxy pass requests on to the URL, of which scheme, host and port matter.
// Requests that are under way end where they began.
func (p *Proxy) SetTarget(u *url.URL) error {
	address, err := targetAddress(u)
	if err != nil {
		return err
	}
	if p.refuse != nil {
		if why := p.refuse(address); why != "" {
			return fmt.Errorf("cannot observe %s: %s", address, why)
		}
	}
	t := &target{
		url: &url.URL{
			Scheme: u.Scheme,
			Host:   u.Host,
		},
		transport: newTransport(u.Hostname()),
	}
	old := p.target.Swap(t)
	if old != nil {
		old.transport.CloseIdleConnections()
	}
	return nil
}

// Target returns where requests go, or nil.
func (p *Proxy) Target() *url.URL {
	t := p.target.Load()
	if t == nil {
		return nil
	}
	u := *t.url
	return &u
}

// targetAddress returns the host and port of a target.
func targetAddress(u *url.URL) (string, error) {
	port := u.Port()
	switch {
	case u.Hostname() == "":
		return "", fmt.Errorf("%q names no host: write it as http://localhost:3000", u)
	case u.Scheme == "http" && port == "":
		port = "80"
	case u.Scheme == "https" && port == "":
		port = "443"
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%q is neither http nor https", u)
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// idleFor is shorter than servers keep connections, some of which do for two seconds: a request that
// meets the end of its connection fails.
const idleFor = time.Second

func newTransport(host string) *http.Transport {
	const connections = 256
	dialer := net.Dialer{Timeout: 10 * time.Second}
	t := &http.Transport{
		DialContext:           dialer.DialContext,
		MaxIdleConns:          connections,
		MaxIdleConnsPerHost:   connections,
		IdleConnTimeout:       idleFor,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// The app is asked for what the client accepts, as far as it is read: see askReadable.
		DisableCompression: true,
	}
	if isLoopback(host) {
		t.TLSClientConfig = &tls.Config{
			InsecureSkipVerify: true, //nolint:gosec // a certificate for localhost is made by whoever runs the app, and nobody is between
		}
	}
	return t
}

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

// errNoTarget says that the app has no address yet.
var errNoTarget = errors.New("the app does not listen yet")

// ServeHTTP passes the request on and tells the store of it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := p.target.Load()
	if t == nil {
		writeUnavailable(w, r, "The app does not listen on a port yet.")
		return
	}
	e := p.begin(r, t)
	// Otherwise the server takes the rest of the request's body from the app once the app begins to answer. An error means that
	// the protocol has no such limit.
	_ = http.NewResponseController(w).EnableFullDuplex()
	ctx := context.WithValue(r.Context(), exchangeKey{}, e)
	// ReverseProxy panics where the response cannot be completed.
	defer e.end(p.store)
	p.reverse.ServeHTTP(w, r.WithContext(ctx))
}

// RoundTrip is for the reverse proxy.
func (p *Proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	e := exchangeOf(r.Context())
	if e == nil {
		return nil, errNoTarget
	}
	return e.target.transport.RoundTrip(r)
}

// rewrite makes the request for the app.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	e := exchangeOf(r.In.Context())
	r.Out.URL.Scheme = e.target.url.Scheme
	r.Out.URL.Host = e.target.url.Host
	// What is no correct path or query passes too.
	r.Out.URL.Opaque = incorrectPath(r.In)
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	// The app compares Host with Origin, and makes addresses of it.
	r.Out.Host = r.In.Host
	forward(r)
	header := r.Out.Header
	if !e.ignored {
		askReadable(header)
	}
	header[requestIDHeader] = []string{e.request.ID}
	header[traceparentHeader] = []string{formatTraceparent(e.request.Trace, e.request.Span)}
	if !e.keepsTrace {
		delete(header, tracestateHeader)
	}
	if len(r.In.Trailer) > 0 {
		// Its values come with the end of the body.
		r.Out.Trailer = r.In.Trailer
	}
	if r.Out.Body != nil {
		e.sent.in = r.Out.Body
		r.Out.Body = &e.sent
	}
}

// incorrectPath returns the path of a request as the client has sent it, if Go would send another one: of a path with
// a character that must be escaped it escapes all anew, and takes %2F for a slash. Otherwise it returns nothing.
func incorrectPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || path == r.URL.EscapedPath() {
		return ""
	}
	return path
}

// forward says who has asked. What a tunnel in front of the proxy said stays.
func forward(r *httputil.ProxyRequest) {
	in := r.In.Header
	if before := in["X-Forwarded-For"]; before != nil {
		r.Out.Header["X-Forwarded-For"] = before
	}
	r.SetXForwarded()
	for _, name := range []string{"Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if before := in[name]; before != nil {
			r.Out.Header[name] = before
		}
	}
}

// received notes the beginning of the response, and leads its addresses to the proxy.
func (p *Proxy) received(res *http.Response) error {
	e := exchangeOf(res.Request.Context())
	e.beginResponse(res)
	leadBack(res, e)
	return nil
}

// failed answers for an app that did not. A client that has broken off gets no answer: it may still read, and an answer would
// look complete.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	e := exchangeOf(r.Context())
	if r.Context().Err() != nil || e.sent.failed() {
		e.outcome = capture.ClientGone
		panic(http.ErrAbortHandler)
	}
	e.outcome = capture.AppFailed
	writeUnavailable(w, r, describe(e.target.url, err))
}

// A bufferPool has buffers through which bodies pass.
type bufferPool struct{ pool sync.Pool }

const bufferSize = 32 << 10

// Get returns a buffer of 32 KiB.
func (b *bufferPool) Get() []byte {
	if buffer, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return buffer[:]
	}
	return make([]byte, bufferSize)
}

// Put takes a buffer back.
func (b *bufferPool) Put(buffer []byte) { b.pool.Put((*[bufferSize]byte)(buffer)) }
