package markdown

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-telegram/bot/models"
)

// link writes a label that links to address. If Telegram would refuse the address, or
// the label is blank, link writes label and address as text. write must write the label,
// given as plain text in label.
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
	b.within(models.MessageEntity{Type: models.MessageEntityTypeTextLink, URL: target}, write)
}

// labelled formats a label and an address as text.
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

// address decodes the destination of a Markdown link.
func address(destination []byte) string { return unescape(destination) }

// maxAddressBytes limits the length of an address, because every message repeats the
// address.
const maxAddressBytes = 2048

// linkTarget normalizes an address and reports whether Telegram accepts the result;
// Telegram refuses a whole message for one bad address (check_link in
// td/telegram/LinkManager.cpp). The scheme must be http or https and the host must
// contain a dot. User information before the host is refused, because a user name can
// imitate a host.
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

// isHost reports whether host has at least two nonempty labels. ASCII characters in
// labels must be letters, digits, hyphens or underscores.
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

// escapeSpaces percent-encodes spaces and control characters.
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
