package setup

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"bareclaw/internal/statemark"
)

// checkPort returns why the gateway could not listen on a port, nil if it could or already
// does.
func (w settingsStep) checkPort(port string) error {
	address := net.JoinHostPort(w.host(), port)
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l.Close()
	}
	if h, alive, _ := statemark.Gateway(w.stateDir()); alive && h.Address == address {
		return nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return &trouble{"port " + port + " is in use by another program", "choose another with --port " + freePort(w.host(), port) + ", or end that program"}
	}
	return &trouble{fmt.Sprintf("the gateway could not listen on %s: %v", address, err), "choose another port with --port"}
}

// freePort returns the next free port.
func freePort(host, after string) string {
	n, _ := strconv.Atoi(after)
	for port := n + 1; port < min(n+100, 65536); port++ {
		if l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			_ = l.Close()
			return strconv.Itoa(port)
		}
	}
	return "0"
}
