package mounts

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// A Gateway is what tells the gateway itself apart from a server.
type Gateway struct {
	Host string // on which it listens
	Port int    // likewise; 0: it is not known
}

// errItself refuses to mount the gateway on itself.
var errItself = errors.New("it is this gateway itself, whose tools every chat has; mount another server")

// Refuse returns why a server cannot be mounted that is the gateway itself; nil for others, and for one whose variables
// this process does not have.
func (g Gateway) Refuse(described *Server) error {
	s, _, err := expand(described)
	isItself := err == nil && (s.URL != "" && g.isAt(s.URL) || s.URL == "" && isBridge(&s))
	if isItself {
		return errItself
	}
	return nil
}

// isAt reports whether the gateway listens at an address.
func (g Gateway) isAt(address string) bool {
	u, err := url.Parse(address)
	if err != nil || g.Port == 0 {
		return false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return port == strconv.Itoa(g.Port) && g.isHere(strings.ToLower(u.Hostname()))
}

// isHere reports whether a host is that on which the gateway listens, or the machine itself.
func (g Gateway) isHere(host string) bool {
	if host == "localhost" || strings.EqualFold(host, g.Host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		name, err := os.Hostname()
		return err == nil && strings.EqualFold(host, name)
	}
	if ip = ip.Unmap(); ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == ip
	})
}

// bridgeCommand is the command of this program that offers the gateway's tools to an MCP client.
const bridgeCommand = "mcp"

// isBridge reports whether a server is this program, as it offers the gateway's tools.
func isBridge(s *Server) bool {
	if !slices.Contains(s.Args, bridgeCommand) {
		return false
	}
	path, err := exec.LookPath(s.Command)
	if err != nil {
		return false
	}
	own, err := os.Executable()
	if err != nil {
		return false
	}
	there, errThere := os.Stat(path)
	here, errHere := os.Stat(own)
	return errThere == nil && errHere == nil && os.SameFile(there, here)
}
