package config

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A Port is a TCP port; 0 picks a free one.
type Port int

var ports = span{0, math.MaxUint16}

// Decode reads a port.
func (p *Port) Decode(text string) error {
	n, err := ports.decode(text)
	*p = Port(n)
	return err
}

// Accepted describes ports.
func (*Port) Accepted() string { return ports.String() + ", where 0 picks a free port" }

const acceptedHost = "an IP address or a host name, without a port"

// A Host is an IP address in canonical form, or a host name in lower case.
type Host string

// Decode reads a host.
func (h *Host) Decode(text string) error {
	host, err := parseHost(text)
	*h = Host(host)
	return err
}

// Accepted describes hosts.
func (*Host) Accepted() string { return acceptedHost }

// Hosts are IP addresses and host names, as in [Host].
type Hosts []string

// Decode reads a list of hosts.
func (h *Hosts) Decode(text string) (err error) {
	*h, err = decodeList(text, parseHost)
	return err
}

// Accepted describes lists of hosts.
func (*Hosts) Accepted() string { return "a comma-separated list, each " + acceptedHost }

// parseHost reads an IP address, in brackets or not, or a host name.
func parseHost(text string) (string, error) {
	bare := text
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		bare = text[1 : len(text)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil && isPrintable(bare) {
		return addr.String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	if !isHostName(name) {
		return "", fmt.Errorf("%s is neither an IP address nor a host name", quoted(text))
	}
	return name, nil
}

// isHostName allows the letters, digits and hyphens of RFC 1123, section 2.1, and also
// underscores, common in private networks. The last label is no number: 127.1 means
// different things to different resolvers.
func isHostName(name string) bool {
	labels := regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$`)
	last := name[strings.LastIndexByte(name, '.')+1:]
	return len(name) <= 253 && labels.MatchString(name) && strings.Trim(last, "0123456789") != ""
}

// IsLoopback reports whether a host, a [Host], is reachable from the same machine only.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// A LoopbackAddress is the address and the port of a listener that only this machine reaches.
type LoopbackAddress string

var usualPorts = span{1, math.MaxUint16}

// Decode reads an address with a port.
func (a *LoopbackAddress) Decode(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err == nil {
		host, err = parseHost(host)
	}
	if err == nil {
		_, err = usualPorts.decode(port)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s is not an address with a port", quoted(text))
	case !IsLoopback(host):
		return fmt.Errorf("%s can be reached by others", quoted(host))
	}
	*a = LoopbackAddress(net.JoinHostPort(host, port))
	return nil
}

// Accepted describes loopback addresses.
func (*LoopbackAddress) Accepted() string {
	return "a loopback address with a port, as 127.0.0.1:3001"
}

// A BaseURL is an http or https URL without a final slash.
type BaseURL string

// Decode reads a URL, and removes a final slash.
func (b *BaseURL) Decode(text string) error {
	u, err := url.Parse(text)
	if err != nil || !isBase(u) {
		return fmt.Errorf("%s is not such a URL", quoted(text))
	}
	*b = BaseURL(strings.TrimRight(text, "/"))
	return nil
}

func isBase(u *url.URL) bool {
	isHTTP := slices.Contains([]string{"http", "https"}, u.Scheme)
	return isHTTP && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// Accepted describes base URLs.
func (*BaseURL) Accepted() string { return "an http or https URL, as http://localhost:8081" }
