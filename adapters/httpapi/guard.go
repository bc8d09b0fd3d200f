package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"bareclaw/adapters/httpapi/api"
)

// A guard decides which clients may use the API. Checks run in a fixed order, before the
// lookup of the route and before the body is read: Host, origin, token, peer.
type guard struct {
	token   [sha256.Size]byte
	guarded bool // requests need the token
	hosts   map[string]bool
	cross   *http.CrossOriginProtection
	peer    func(net.Conn) bool // nil: all peers are accepted
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

// check returns why the request is refused, or nil. On the Unix sockets only the
// peer matters.
func (g *guard) check(r *http.Request, from listener) *problem {
	if from == localListener || from == innerListener {
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
