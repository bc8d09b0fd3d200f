package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dialBound is the time limit for a program on the machine to accept a connection.
const dialBound = 2 * time.Second

// checkAddress checks whether the gateway has its configured address, or could listen
// there. The check only connects, because listening for a moment could make a start
// fail.
func checkAddress(ctx context.Context, l *look) []Finding {
	if l.Report.Wrong("BARECLAW_PORT") || l.Report.Wrong("BARECLAW_HOST") {
		return nil
	}
	address := net.JoinHostPort(l.cfg.Host, strconv.Itoa(l.cfg.Port))
	if !ofThisMachine(ctx, l.cfg.Host) {
		return []Finding{problem("address_foreign", l.cfg.Host+" (BARECLAW_HOST) is no address of this machine.",
			"The gateway cannot listen there, and does not start.", "set BARECLAW_HOST to 127.0.0.1, or to one of: "+strings.ReplaceAll(strings.Trim(fmt.Sprint(ownAddresses()), "[]"), " ", ", "))}
	}
	h := l.holder()
	switch {
	case h.alive && sameAddress(ctx, h.Address, l.cfg.Host, l.cfg.Port):
		return []Finding{ok("The gateway (pid %d) listens on %s.", h.PID, h.Address)}
	case h.alive:
		return []Finding{warning("address_changed", fmt.Sprintf("The gateway (pid %d) listens on %s, not on %s as is configured.", h.PID, h.Address, address),
			"It was started with other settings.", "bareclaw restart")}
	case l.cfg.Port == 0:
		return []Finding{ok("A free port will be picked.")}
	}
	return []Finding{tryAddress(ctx, address, l.cfg.Port)}
}

// tryAddress checks whether another program listens on the gateway's address.
func tryAddress(ctx context.Context, address string, port int) Finding {
	who := listener(port)
	if strings.HasPrefix(who, "systemd ") { // a connection would start the gateway
		return ok("systemd listens on port %d, and starts the gateway with the first connection.", port)
	}
	ctx, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return ok("Port %d is free.", port)
	}
	if err == nil {
		_ = c.Close()
	}
	if who == "" {
		who = "another program"
	}
	return problem("port_taken", fmt.Sprintf("Port %d is used by %s.", port, who), "The gateway does not start while it is.",
		"stop that program, or set BARECLAW_PORT to another port")
}

// sameAddress reports whether the address of a running daemon is the configured address.
func sameAddress(ctx context.Context, have, host string, port int) bool {
	h, p, err := net.SplitHostPort(have)
	if err != nil || port != 0 && p != strconv.Itoa(port) {
		return false
	}
	ip := net.ParseIP(h)
	return slices.ContainsFunc(resolve(ctx, host), func(want net.IP) bool {
		return ip.Equal(want) || ip.IsUnspecified() && want.IsUnspecified()
	})
}

// resolve returns the addresses of a host, none if the host cannot be resolved.
func resolve(ctx context.Context, host string) []net.IP {
	ips, _ := net.DefaultResolver.LookupIP(ctx, "ip", host)
	return ips
}

// ofThisMachine reports whether the gateway can listen on an address.
func ofThisMachine(ctx context.Context, host string) bool {
	return slices.ContainsFunc(resolve(ctx, host), func(ip net.IP) bool {
		return ip.IsLoopback() || ip.IsUnspecified() || slices.ContainsFunc(ownAddresses(), ip.Equal)
	})
}

// ownAddresses returns the addresses of the machine's network interfaces.
func ownAddresses() (ips []net.IP) {
	addrs, _ := net.InterfaceAddrs() // without an answer none is known
	for _, a := range addrs {
		if n, isNet := a.(*net.IPNet); isNet {
			ips = append(ips, n.IP)
		}
	}
	return ips
}
