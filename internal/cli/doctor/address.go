package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bareclaw/core/config"
)

const (
	// dialBound is the time limit for a program on the machine to accept a connection.
	dialBound = 2 * time.Second

	setToken = "set BARECLAW_HTTP_TOKEN, as by `openssl rand -hex 32`"
)

// checkAddress checks whether the gateway has its configured address, or could listen
// there. The check only connects, because listening for a moment could make a start
// fail.
func checkAddress(ctx context.Context, r *report) {
	if r.Report.Wrong("BARECLAW_PORT") || r.Report.Wrong("BARECLAW_HOST") {
		return
	}
	address := net.JoinHostPort(r.cfg.Host, strconv.Itoa(r.cfg.Port))
	own, _ := net.InterfaceAddrs()                                   // without an answer none is known
	wanted, _ := net.DefaultResolver.LookupIP(ctx, "ip", r.cfg.Host) // none if the host cannot be resolved
	local := func(ip net.IP) bool {
		return ip.IsLoopback() || ip.IsUnspecified() ||
			slices.ContainsFunc(own, func(a net.Addr) bool { n, isNet := a.(*net.IPNet); return isNet && n.IP.Equal(ip) })
	}
	h := r.holder()
	switch {
	case !slices.ContainsFunc(wanted, local):
		var names []string
		for _, a := range own {
			host, _, _ := strings.Cut(a.String(), "/")
			names = append(names, host)
		}
		r.problem("address_foreign", r.cfg.Host+" (BARECLAW_HOST) is no address of this machine.",
			"The gateway cannot listen there, and does not start.", "set BARECLAW_HOST to 127.0.0.1, or to one of: "+strings.Join(names, ", "))
	case h.alive && sameAddress(h.Address, wanted, r.cfg.Port):
		r.ok("The gateway (pid %d) listens on %s.", h.PID, h.Address)
	case h.alive:
		r.warning("address_changed", fmt.Sprintf("The gateway (pid %d) listens on %s, not on %s as is configured.", h.PID, h.Address, address),
			"It was started with other settings.", "bareclaw restart")
	case r.cfg.Port == 0:
		r.ok("A free port will be picked.")
	default:
		tryAddress(ctx, r, address)
	}
}

// tryAddress checks whether another program listens on the gateway's address.
func tryAddress(ctx context.Context, r *report, address string) {
	port := r.cfg.Port
	who := listener(port)
	if strings.HasPrefix(who, "systemd ") { // a connection would start the gateway
		r.ok("systemd listens on port %d, and starts the gateway with the first connection.", port)
		return
	}
	if dial(ctx, "tcp", address) {
		r.ok("Port %d is free.", port)
		return
	}
	r.problem("port_taken", fmt.Sprintf("Port %d is used by %s.", port, cmp.Or(who, "another program")), "The gateway does not start while it is.",
		"stop that program, or set BARECLAW_PORT to another port")
}

// dial tries a connection, and reports whether the system refuses it: nobody listens.
func dial(ctx context.Context, network, address string) (refused bool) {
	ctx, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// sameAddress reports whether the address of a running daemon is the configured address.
func sameAddress(have string, wanted []net.IP, port int) bool {
	h, p, err := net.SplitHostPort(have)
	ip := net.ParseIP(h)
	return err == nil && (port == 0 || p == strconv.Itoa(port)) && slices.ContainsFunc(wanted, func(want net.IP) bool {
		return ip.Equal(want) || ip.IsUnspecified() && want.IsUnspecified()
	})
}

func checkExposure(_ context.Context, r *report) {
	if r.Report.Wrong("BARECLAW_HOST") || r.Report.Wrong("BARECLAW_HTTP_TOKEN") {
		return // checkConfiguration reports a reachable host without a token
	}
	guarded := r.cfg.HTTPToken.IsSet()
	if !config.IsLoopback(r.cfg.Host) {
		r.warning("exposed", "The gateway listens on "+r.cfg.Host+", which others can reach.",
			"HTTP is not encrypted: who can listen on the way reads the token, and whoever has it runs commands as this user.",
			"set BARECLAW_HOST=127.0.0.1 and put a reverse proxy with TLS before it")
	}
	if len(r.cfg.AllowedHosts) > 0 && !guarded {
		r.warning("proxy_without_token", "Requests for "+strings.Join(r.cfg.AllowedHosts, ", ")+" are accepted without a token.",
			"What a reverse proxy of this user sends on counts as this user's, whoever sent it: whoever reaches the proxy commands the gateway.",
			setToken)
	}
	if !guarded && !r.tellsPeers {
		r.warning("peer_unknown", "Other users of this machine can command the gateway.",
			"This system does not tell which user is at the other end of a TCP connection.", setToken)
	}
	if len(r.found) == 0 {
		by := "only this user's programs are listened to"
		if guarded {
			by = "with the token only"
		}
		r.ok("The gateway is for this machine, %s.", by)
	}
}
