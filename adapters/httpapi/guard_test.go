package httpapi

import (
	"bareclaw/core"
	"bareclaw/internal/testkit/check"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

func TestHosts(t *testing.T) {
	r := startRig(t, func(o *Options) { o.Host, o.AllowedHosts = "192.0.2.7", []string{"Box.lan", "claw.example:8443"} })
	for _, host := range []string{
		"localhost", "LOCALHOST:3000", "localhost.:1", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:3000", "[::ffff:127.0.0.1]:1",
		"192.0.2.7", "192.0.2.7:99", "box.lan", "BOX.LAN:3000", "claw.example", "claw.example:1",
	} {
		if a := r.send("GET", "/health", "", "Host", host); a.status != http.StatusOK {
			t.Errorf("%s: got %d %s", host, a.status, a.body)
		}
	}
	for _, host := range []string{
		"evil.example", "evil.example:3000", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.8", "0.0.0.0", "[::]", "10.0.0.1:3000",
		"sub.box.lan", "notlocalhost", "[2001:db8::1]:80", "2130706433",
	} {
		for _, path := range []string{"/health", "/nothing"} {
			if a := r.send("GET", path, "", "Host", host); a.status != http.StatusForbidden || a.field(t, "code") != "foreign_host" {
				t.Errorf("%s: got %d %s", host, a.status, a.body)
			}
		}
	}
}

// TestOriginsWithAToken: pages of the gateway's own origin may use the API with the token.
func TestOriginsWithAToken(t *testing.T) {
	r := startRig(t, func(o *Options) { o.AllowedHosts, o.Token = []string{"box.lan"}, "right" })
	own := strings.TrimPrefix(r.url, "http://")
	for _, c := range []struct {
		origin, site, host string
		ok                 bool
	}{
		{"", "", "", true},
		{"http://" + own, "", "", true},
		{"http://" + own, "same-origin", "", true},
		{"", "none", "", true},
		{"", "same-origin", "", true},
		{"https://box.lan", "", "box.lan", true},
		{"https://evil.example", "", "", false},
		{"http://localhost:1", "", "", false},
		{"https://box.lan", "", "", false},
		{"null", "", "", false},
		{"rubbish", "", "", false},
		{"https://evil.example", "same-origin", "", false},
		{"", "cross-site", "", false},
		{"", "same-site", "", false},
		{"http://" + own, "cross-site", "", false},
	} {
		for _, op := range [][2]string{{"GET", "/channels"}, {"GET", "/openapi.yaml"}, {"POST", "/restart"}, {"OPTIONS", "/message"}, {"GET", "/none"}} {
			req := r.request(op[0], op[1], "", "Authorization", "Bearer right")
			if c.host != "" {
				req.Host = c.host
			}
			for name, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
				if value != "" {
					req.Header.Set(name, value)
				}
			}
			if a := r.do(r.client, req); (a.status != http.StatusForbidden) != c.ok || !c.ok && a.field(t, "code") != "foreign_origin" {
				t.Errorf("%s %s with %+v: got %d %s", op[0], op[1], c, a.status, a.body)
			}
		}
	}
	// What a page can post without asking first is refused twice over.
	a := r.send("POST", "/message", `{"text":"a"}`, "Content-Type", "text/plain", "Origin", "https://evil.example")
	r.want(a, http.StatusForbidden, "foreign_origin")
	if len(r.accepted(t)) != 0 {
		t.Error("a foreign page was heard")
	}
}

// TestNoPageIsHeardWithoutAToken: pages of the gateway's own origin are those of a server that had
// the port before.
func TestNoPageIsHeardWithoutAToken(t *testing.T) {
	r := startRig(t, nil)
	own := r.url
	for _, headers := range [][]string{
		{"Origin", own}, {"Origin", "https://evil.example"}, {"Origin", "null"},
		{"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "new"},
		{"Sec-Fetch-Dest", "empty"}, {"Sec-Fetch-User", "?1"},
		{"Origin", own, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"},
	} {
		for _, op := range [][3]string{
			{"GET", "/channels"}, {"POST", "/message", `{"text":"a"}`}, {"POST", "/mcp", "{}"}, {"POST", "/mcp/bags/browser", "{}"}, {"POST", "/toolhost/call", "{}"},
			{"PATCH", "/channels/a", `{"model":"opus"}`}, {"POST", "/upgrade", `{"path":"/bin/true"}`}, {"OPTIONS", "/message"}, {"GET", "/none"},
		} {
			if a := r.send(op[0], op[1], op[2], headers...); a.status != http.StatusForbidden || a.field(t, "code") != "foreign_origin" {
				t.Errorf("%s %s with %q: got %d %s", op[0], op[1], headers, a.status, a.body)
			}
		}
	}
	if len(r.accepted(t)) != 0 {
		t.Error("a page was heard")
	}
	r.want(r.send("GET", "/channels", "", "Sec-Fetch-Mode", "cors"), http.StatusOK, "") // as Node's fetch

	visitor := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(visitor.CloseIdleConnections)
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Sec-Fetch-User", "?1"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
	} {
		for _, path := range []string{"/", "/channels", "/<script>"} {
			a := r.do(visitor, r.request("GET", path, "", headers...))
			if a.status != http.StatusForbidden || a.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(a.body, "no web page") {
				t.Errorf("a visit of %s: got %d %q %s", path, a.status, a.header, a.body)
			}
		}
	}
}

// TestServiceWorkersAreRemoved: the browser asks for a worker's script past the worker.
func TestServiceWorkersAreRemoved(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "right"} {
		r := newRig(t, func(o *Options) { o.Token = token })
		for _, c := range []*http.Client{r.client, r.local} {
			for _, path := range []string{"/sw.js", "/", "/scripts/channels"} {
				a := r.do(c, r.request("GET", path, "", "Service-Worker", "script", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "serviceworker"))
				r.want(a, http.StatusNotFound, "not_found")
				if got := a.header.Get("Clear-Site-Data"); got != `"storage"` {
					t.Errorf("%s: Clear-Site-Data is %q", path, got)
				}
			}
		}
		for _, path := range []string{"/sw.js", "/channels"} {
			if a := r.send("GET", path, "", "Sec-Fetch-Dest", "serviceworker"); a.header.Get("Clear-Site-Data") != "" {
				t.Errorf("%s without Service-Worker: got %q", path, a.header)
			}
		}
	}
}

// TestNoProxyWithoutAToken: behind a proxy of the gateway's user everybody is that user.
func TestNoProxyWithoutAToken(t *testing.T) {
	t.Parallel()
	headers := []string{"Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything",
		"CF-Connecting-IP", "CF-Ray", "True-Client-IP", "X-Client-IP", "Client-IP", "X-Forwarded", "X-RealIP", "X-Original-Host", "CDN-Loop",
		"X-Envoy-External-Address", "X-Azure-ClientIP", "X-Appengine-User-Ip", "Tailscale-User-Login", "Fly-Client-IP"}
	r := newRig(t, nil)
	for _, name := range headers {
		for _, value := range []string{"x", ""} {
			req := r.request("GET", "/channels", "")
			req.Header[http.CanonicalHeaderKey(name)] = []string{value}
			a := r.do(r.client, req)
			r.want(a, http.StatusForbidden, "proxy_without_token")
			if !strings.Contains(a.body, "BARECLAW_HTTP_TOKEN") {
				t.Errorf("%s: the refusal does not name the setting: %s", name, a.body)
			}
		}
	}
	guarded := newRig(t, func(o *Options) { o.Token = "right" })
	for _, name := range headers {
		guarded.want(guarded.send("GET", "/channels", "", name, "x", "Authorization", "Bearer right"), http.StatusOK, "")
	}
}

// TestAWrongTokenIsRefusedEverywhere: who sends a token expects a gateway that knows it.
func TestAWrongTokenIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	open, guarded := newRig(t, nil), newRig(t, func(o *Options) { o.Token = "right" })
	for _, auth := range []string{"Bearer wrong", "Bearer", "Bearer ", "Basic cmlnaHQ6", "right"} {
		for _, r := range []*rig{open, guarded} {
			for _, c := range []*http.Client{r.client, r.local} {
				r.want(r.do(c, r.request("GET", "/health", "", "Authorization", auth)), http.StatusUnauthorized, "unauthorized")
			}
		}
	}
	guarded.want(guarded.do(guarded.local, guarded.request("GET", "/health", "", "Authorization", "Bearer right")), http.StatusOK, "")
	empty := open.request("GET", "/health", "")
	empty.Header["Authorization"] = []string{""}
	open.want(open.do(open.client, empty), http.StatusUnauthorized, "unauthorized")
}

func TestTokenGuardsEveryRoute(t *testing.T) {
	r := startRig(t, func(o *Options) {
		o.Token = "right"
		o.Peer = func(net.Conn) bool {
			t.Error("the peer is asked for though there is a token")
			return false
		}
	})
	paths := map[string]bool{"GET /none": true, "PUT /message": true, "OPTIONS /health": true}
	for _, op := range r.recorder.Operations() {
		paths[op] = true
	}
	for op := range paths {
		method, path, _ := strings.Cut(op, " ")
		path = strings.NewReplacer("{key}", "k", "{id}", "i").Replace(path)
		for _, auth := range []string{"", "right", "Bearer", "Bearer ", "Bearer wrong", "Bearer rightx", "Basic right", "Bearer Right", "Bearer right, Bearer right"} {
			a := r.send(method, path+"?token=right&access_token=right", "", "Authorization", auth)
			r.want(a, http.StatusUnauthorized, "unauthorized")
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: no WWW-Authenticate", op)
			}
		}
	}
	for _, auth := range []string{"Bearer right", "bearer right", "BEARER  right"} {
		r.want(r.send("GET", "/health", "", "Authorization", auth), http.StatusOK, "")
	}
	twice := r.request("GET", "/health", "")
	twice.Header["Authorization"] = []string{"Bearer right", "Bearer right"}
	r.want(r.do(r.client, twice), http.StatusUnauthorized, "unauthorized")
	r.want(r.do(r.client, r.request("GET", "/health", "", "Host", "evil.example", "Authorization", "Bearer right")), http.StatusForbidden, "foreign_host")
}

// TestTokenBeforeBody sends a body that never ends: it must be refused unread.
func TestTokenBeforeBody(t *testing.T) {
	r := startRig(t, func(o *Options) { o.Token = "right" })
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	check.OK(t, err)
	defer c.Close()
	if _, err := c.Write([]byte("POST /message HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 12)
	if _, err := c.Read(head); err != nil || string(head) != "HTTP/1.1 401" {
		t.Errorf("got %q, %v", head, err)
	}
}

func TestPeers(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	peer := func(ok bool) func(*Options) {
		return func(o *Options) {
			o.Peer = func(c net.Conn) bool {
				if c.RemoteAddr() == nil {
					t.Error("no connection")
				}
				asked.Add(1)
				return ok
			}
		}
	}
	same := newRig(t, peer(true))
	for range 3 {
		same.want(same.send("GET", "/health", ""), http.StatusOK, "")
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("one connection was asked for %d times", n)
	}
	stranger := newRig(t, peer(false))
	for _, path := range []string{"/health", "/none"} {
		stranger.want(stranger.send("GET", path, ""), http.StatusForbidden, "foreign_user")
		stranger.want(stranger.do(stranger.local, stranger.request("GET", path, "")), http.StatusForbidden, "foreign_user")
	}
}

func TestSocketNeedsNoTokenButDecidesNothing(t *testing.T) {
	r := startRig(t, func(o *Options) { o.Token = "right" })
	approval := r.asks("Bash", `{"command":"ls"}`)
	for _, path := range []string{"/health", "/channels", "/approvals", "/metrics"} {
		r.want(r.do(r.local, r.request("GET", path, "", "Host", "anything")), http.StatusOK, "")
	}
	r.want(r.do(r.local, r.request("POST", "/message", `{"text":"a"}`)), http.StatusOK, "")
	r.want(r.do(r.local, r.request("POST", "/restart", "")), http.StatusOK, "")
	r.want(r.do(r.local, r.request("POST", "/approvals/"+approval, `{"behavior":"allow"}`)), http.StatusForbidden, "not_on_socket")
	r.want(r.do(r.local, r.request("PATCH", "/channels/a", `{"permission_mode":"bypassPermissions"}`)), http.StatusForbidden, "not_on_socket")
	if a, err := r.Decider.Approval(t.Context(), approval); err != nil || a.State != core.ApprovalPending {
		t.Errorf("it is %s: %v", a.State, err)
	}
}

// TestRelaysToTheSocketAreRefused: the peer at the socket is then a program of the user, whoever has
// sent the request. That holds with a token too, which the socket does not ask for.
func TestRelaysToTheSocketAreRefused(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "right"} {
		r := newRig(t, func(o *Options) { o.Token = token })
		for header, code := range map[string]string{
			"Origin": "foreign_origin", "Sec-Fetch-Site": "foreign_origin", "Sec-Fetch-Dest": "foreign_origin", "Sec-Fetch-User": "foreign_origin",
			"Forwarded": "proxy_without_token", "Via": "proxy_without_token", "X-Forwarded-For": "proxy_without_token", "X-Real-Ip": "proxy_without_token",
			"Cf-Connecting-Ip": "proxy_without_token", "True-Client-Ip": "proxy_without_token",
		} {
			r.want(r.do(r.local, r.request("GET", "/health", "", header, "http://localhost")), http.StatusForbidden, code)
		}
		r.want(r.do(r.local, r.request("GET", "/health", "", "Sec-Fetch-Mode", "cors")), http.StatusOK, "") // as Node's fetch
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	r := startRig(t, nil)
	for _, path := range []string{"/", "/none", "/message/", "/messages", "/messages/", "/channels/", "/channels/a/b/c", "//message", "/Message", "/mcp/x"} {
		r.want(r.send("GET", path, ""), http.StatusNotFound, "not_found")
	}
	for _, c := range []struct{ method, path, allow string }{
		{"GET", "/message", "POST"}, {"PUT", "/message", "POST"}, {"HEAD", "/send", "POST"}, {"OPTIONS", "/channels", "GET, HEAD"},
		{"PUT", "/channels/a%2Fb", "DELETE, GET, HEAD, PATCH"}, {"POST", "/messages/x", "DELETE, GET, HEAD"}, {"BREW", "/send", "POST"}, {"DELETE", "/metrics", "GET, HEAD"},
	} {
		resp, err := http.DefaultTransport.RoundTrip(r.request(c.method, c.path, ""))
		check.OK(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: got %d Allow %q", c.method, c.path, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	a := r.send("BREW", "/none", "")
	r.want(a, http.StatusNotFound, "not_found")
	if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", a.header)
	}
}
