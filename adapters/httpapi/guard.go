package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"bareclaw/adapters/httpapi/api"
)

// A guard decides which clients may use the API. Checks run in a fixed order, before the
// lookup of the route and before the body is read: service workers, Host, origin, token,
// proxies, peer.
type guard struct {
	token   [sha256.Size]byte
	guarded bool // requests need the token
	hosts   map[string]bool
	cross   *http.CrossOriginProtection
	peer    func(net.Conn) bool // nil: all peers are accepted
}

func newGuard(o Options) guard {
	g := guard{
		token:   sha256.Sum256([]byte(o.Token)),
		guarded: o.Token != "",
		hosts:   map[string]bool{"localhost": true},
		cross:   http.NewCrossOriginProtection(),
		peer:    o.Peer,
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
	toolListener                  // the TCP address of the tool host
)

type servedListener struct {
	net.Listener
	from listener
}

type listenerKey struct{}

// withListener stores the kind of a listener in the context of all its requests. withListener
// is the BaseContext of the http.Server.
func withListener(l net.Listener) context.Context {
	return context.WithValue(context.Background(), listenerKey{}, l.(servedListener).from)
}

// listenerOf returns the listener of a request; without a server, in tests, the TCP address.
func listenerOf(r *http.Request) listener {
	from, _ := r.Context().Value(listenerKey{}).(listener)
	return from
}

// check returns why the request is refused, or nil. On the Unix sockets the peer matters, which must
// not be a relay, and a token where one is sent: a predecessor has checked its clients, and its token
// may have been another one.
func (g *guard) check(r *http.Request, from listener) *problem {
	switch {
	case slices.Contains(r.Header["Service-Worker"], "script"):
		return noWorker()
	case from == innerListener:
		return g.checkPeer(r)
	case from == localListener:
		return cmp.Or(g.checkPeer(r), checkBrowser(r), checkProxy(r), g.checkSentToken(r))
	case !g.knownHost(r.Host):
		return refuse(http.StatusForbidden, api.ForeignHost,
			"The Host header names no host of this gateway; use a loopback address, or add the name to BARECLAW_ALLOWED_HOSTS.")
	case g.guarded:
		return cmp.Or(g.checkOrigin(r), g.checkToken(r))
	}
	return cmp.Or(checkBrowser(r), g.checkSentToken(r), checkProxy(r), g.checkPeer(r))
}

// noWorker refuses the script of a service worker and has the browser remove the worker. A worker
// that an earlier server on this port has registered acts in the name of this origin; the update
// of its own script is the one request that it cannot answer itself.
func noWorker() *problem {
	return refuse(http.StatusNotFound, api.NotFound, "There is no service worker here.").with("Clear-Site-Data", `"storage"`)
}

// checkBrowser refuses requests of web pages. There is no page of the gateway, so that a page of
// its own origin comes from another server that had the port before. Node's fetch sends
// Sec-Fetch-Mode alone.
func checkBrowser(r *http.Request) *problem {
	for _, name := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Dest", "Sec-Fetch-User"} {
		if _, sent := r.Header[name]; sent {
			return foreignOrigin(r)
		}
	}
	return nil
}

// foreignOrigin refuses a request of a web page. A person who opens the address gets a text.
func foreignOrigin(r *http.Request) *problem {
	p := refuse(http.StatusForbidden, api.ForeignOrigin, "Requests from web pages are refused.")
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" || r.Header.Get("Sec-Fetch-Dest") == "document" {
		p.plain = "This is the HTTP API of a BAREclaw gateway. It serves programs, and has no web page.\n"
	}
	return p
}

// checkProxy refuses requests that a proxy has forwarded: the peer is then the proxy, which
// belongs to the gateway's user whoever has sent the request.
func checkProxy(r *http.Request) *problem {
	for name := range r.Header {
		if ofProxy(name) {
			return refuse(http.StatusForbidden, api.ProxyWithoutToken,
				"This request came through a proxy ("+name+"), which hides whose it is; set BARECLAW_HTTP_TOKEN, and send each request to the TCP address, with the token.")
		}
	}
	return nil
}

// ofProxy reports whether proxies, tunnels and content delivery networks add the header, named in
// its canonical form: RFC 7239, and what is usual.
func ofProxy(name string) bool {
	return slices.Contains([]string{"Forwarded", "Via", "X-Real-Ip", "X-Realip", "X-Proxyuser-Ip", "Cdn-Loop", "X-Amzn-Trace-Id", "X-Vercel-Id"}, name) ||
		strings.HasSuffix(name, "Client-Ip") || slices.ContainsFunc([]string{
		"X-Forwarded", "X-Original-", "Cf-", "X-Envoy-", "X-Azure-", "X-Appengine-", "Fly-", "Tailscale-",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
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

// checkOrigin refuses requests of other origins. It applies http.CrossOriginProtection to every
// method, because other web pages must not read replies to GET either. Programs other than
// browsers send neither header.
func (g *guard) checkOrigin(r *http.Request) *problem {
	origins, sites := r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	if len(origins) == 0 && len(sites) == 0 {
		return nil
	}
	if len(origins) > 1 || len(sites) > 1 {
		return foreignOrigin(r)
	}
	for _, origin := range origins {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return foreignOrigin(r)
		}
	}
	probe := http.Request{Method: http.MethodPost, Host: r.Host, URL: r.URL, Header: r.Header}
	if g.cross.Check(&probe) != nil {
		return foreignOrigin(r)
	}
	return nil
}

// checkSentToken refuses a wrong token where none is needed: who sends one expects a gateway that
// knows it.
func (g *guard) checkSentToken(r *http.Request) *problem {
	if _, sent := r.Header["Authorization"]; !sent {
		return nil
	}
	return g.checkToken(r)
}

func (g *guard) checkToken(r *http.Request) *problem {
	if values := r.Header["Authorization"]; len(values) == 1 {
		scheme, token, _ := strings.Cut(values[0], " ")
		sum := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
		if g.guarded && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
			return nil
		}
	}
	if !g.guarded {
		return refuse(http.StatusUnauthorized, api.Unauthorized,
			"This gateway has no token (BARECLAW_HTTP_TOKEN), and so does not know the one in the header Authorization.").with("WWW-Authenticate", "Bearer")
	}
	return refuse(http.StatusUnauthorized, api.Unauthorized,
		"Send the token of BARECLAW_HTTP_TOKEN in the header \"Authorization: Bearer …\", and nowhere else.").with("WWW-Authenticate", "Bearer")
}

func (g *guard) checkPeer(r *http.Request) *problem {
	trusted, _ := r.Context().Value(peerKey{}).(func() bool) // nil without a server, in tests
	if g.peer == nil || trusted != nil && trusted() {
		return nil
	}
	return refuse(http.StatusForbidden, api.ForeignUser,
		"Without a token only the user who runs the gateway may use it; set BARECLAW_HTTP_TOKEN to let others in.")
}

type peerKey struct{}

// withPeer stores in the context of a connection's requests a function that asks once whether
// the peer may use the API. It is meant for the field ConnContext of http.Server.
func (g *guard) withPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, sync.OnceValue(func() bool { return g.peer(c) }))
}
