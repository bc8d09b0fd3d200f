package doctor

import (
	"context"
	"net"
	"slices"
	"strings"
)

func checkExposure(ctx context.Context, l *look) []Finding {
	if l.Report.Wrong("BARECLAW_HOST") || l.Report.Wrong("BARECLAW_HTTP_TOKEN") {
		return nil // checkConfiguration reports a reachable host without a token
	}
	var found []Finding
	guarded := l.cfg.HTTPToken.IsSet()
	if !loopback(ctx, l.cfg.Host) {
		found = append(found, warning("exposed", "The gateway listens on "+l.cfg.Host+", which others can reach.",
			"HTTP is not encrypted: who can listen on the way reads the token, and whoever has it runs commands as this user.",
			"set BARECLAW_HOST=127.0.0.1 and put a reverse proxy with TLS before it"))
	}
	if len(l.cfg.AllowedHosts) > 0 && !guarded {
		found = append(found, warning("proxy_without_token", "Requests for "+strings.Join(l.cfg.AllowedHosts, ", ")+" are accepted without a token.",
			"What a reverse proxy of this user sends on counts as this user's, whoever sent it: whoever reaches the proxy commands the gateway.",
			"set BARECLAW_HTTP_TOKEN, as by `openssl rand -hex 32`"))
	}
	if !guarded && !l.tellsPeers(ctx) {
		found = append(found, warning("peer_unknown", "Other users of this machine can command the gateway.",
			"This system does not tell which user is at the other end of a TCP connection.", "set BARECLAW_HTTP_TOKEN, as by `openssl rand -hex 32`"))
	}
	if len(found) == 0 {
		by := "only this user's programs are listened to"
		if guarded {
			by = "with the token only"
		}
		found = append(found, ok("The gateway is for this machine, %s.", by))
	}
	return found
}

// tellsPeers reports whether the system names the user at the other end of a TCP
// connection. tellsPeers tries a connection within the process. If the attempt is
// impossible the result is true: where the system should know the user, the gateway
// refuses unknown users anyway.
func (l *look) tellsPeers(ctx context.Context) bool {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return true
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return true
	}
	defer func() { _ = c.Close() }()
	_, ok, err := l.peer(c.LocalAddr(), c.RemoteAddr())
	return ok || err != nil
}

// loopback reports whether all addresses of a host are loopback addresses.
func loopback(ctx context.Context, host string) bool {
	ips := resolve(ctx, host)
	return len(ips) > 0 && !slices.ContainsFunc(ips, func(ip net.IP) bool { return !ip.IsLoopback() })
}
