package markdown

import (
	"fmt"
	"strconv"
	"strings"
)

// link writes a label with an address behind it, or what is there to be read
// of both if Telegram would refuse the address. The label is that which write
// writes, as plain text.
func (b *Builder) link(address, label string, write func()) {
	target, ok := linkTarget(address)
	if isBlank(label) {
		b.write(labelled(label, address))
		return
	}
	if !ok {
		write()
		b.write(strings.TrimPrefix(labelled(label, address), label))
		return
	}
	defer b.restore(b.style)
	b.links = append(b.links, target)
	b.style.link = len(b.links)
	write()
}

// labelled returns a label and an address as text.
func labelled(label, address string) string {
	address = strings.TrimPrefix(address, "mailto:")
	switch {
	case address == "" || label == address || strings.HasSuffix(address, "://"+label):
		return label
	case isBlank(label):
		return address
	}
	return label + " (" + address + ")"
}

// address returns the destination of a link in Markdown.
func address(destination []byte) string { return unescape(destination) }

// maxAddressBytes bounds an address: it goes with each message it is in.
const maxAddressBytes = 2048

// linkTarget returns an address as Telegram takes it, if it does: one wrong
// address and it refuses the message (check_link in td/telegram/LinkManager.cpp).
// It wants http or https, and a host with a dot. Names and passwords in front
// of the host are not let through, since they look like a host.
func linkTarget(address string) (string, bool) {
	address = Clean(strings.TrimSpace(address))
	scheme, rest, ok := strings.Cut(address, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return "", false
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, port, hasPort := strings.Cut(rest[:end], ":")
	if !isHost(host) || hasPort && !isPort(port) {
		return "", false
	}
	target := scheme + "://" + rest[:end] + escapeSpaces(rest[end:])
	return target, len(target) <= maxAddressBytes
}

// isHost reports whether a host has at least two labels, and nothing but
// letters, digits, hyphens and underscores in them.
func isHost(host string) bool {
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || strings.ContainsFunc(label, func(c rune) bool {
			return c <= 0x7F && !isWordByte(byte(c)) && c != '-' && c != '_' || invisible(c) || c == replacement
		}) {
			return false
		}
	}
	return len(labels) > 1
}

func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// escapeSpaces escapes what must not be in an address.
func escapeSpaces(s string) string {
	if !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' }) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if c <= ' ' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
