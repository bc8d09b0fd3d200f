package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// parseHost reads an IP address, in brackets or not, or a host name. The result is a name in
// lower case, or an address in canonical form.
func parseHost(s string) (string, error) {
	bare := s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		bare = s[1 : len(s)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil && isPrintable(bare) {
		return addr.String(), nil
	}
	if _, err := netip.ParseAddrPort(s); err == nil {
		return "", fmt.Errorf("%s has a port", quoted(s))
	}
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	if err := checkHostName(name); err != nil {
		return "", fmt.Errorf("%s %w", quoted(s), err)
	}
	return name, nil
}

// checkHostName restricts name to the letters, digits and hyphens of RFC 1123, section 2.1,
// and also allows underscores, common in private networks.
func checkHostName(name string) error {
	if host, port, ok := strings.Cut(name, ":"); ok && host != "" && isDigits(port) {
		return errors.New("has a port")
	}
	if len(name) > 253 {
		return errors.New("is longer than a host name can be")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !isHostLabel(label) {
			return errors.New("is neither an IP address nor a host name")
		}
	}
	if isDigits(labels[len(labels)-1]) {
		return errors.New("is not a complete IP address") // 127.1 means different things to different resolvers
	}
	return nil
}

func isHostLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		if c != '-' && c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// IsLoopback reports whether a host, a value of [Config.Host], is reachable from the same
// machine only.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
