package config

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
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
	isLabel := regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`).MatchString
	if slices.ContainsFunc(labels, func(label string) bool { return !isLabel(label) }) {
		return errors.New("is neither an IP address nor a host name")
	}
	if isDigits(labels[len(labels)-1]) {
		return errors.New("is not a complete IP address") // 127.1 means different things to different resolvers
	}
	return nil
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
