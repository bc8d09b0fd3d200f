package markdown

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/go-telegram/bot/models"
)

// link writes a label that links to address. If Telegram would refuse the address, or
// the label is blank, link writes label and address as text. write must write the label,
// given as plain text in label.
func (b *Builder) link(address, label string, write func()) {
	target, ok := linkTarget(address)
	switch {
	case isBlank(label):
		b.write(labelled(label, address))
	case ok:
		b.within(models.MessageEntity{Type: models.MessageEntityTypeTextLink, URL: target}, write)
	default:
		write()
		b.write(strings.TrimPrefix(labelled(label, address), label))
	}
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

// maxAddressBytes limits the length of an address, because every message repeats the
// address.
const maxAddressBytes = 2048

// linkParts matches the scheme, the host, the port and the rest of an address. The host has
// at least two nonempty labels. ASCII characters in labels must be letters, digits, hyphens
// or underscores.
var linkParts = sync.OnceValue(func() *regexp.Regexp {
	const label = `(?:[-\w]|[^\x00-\x7F])+`
	return regexp.MustCompile(`(?s)^((?i)https?)://(` + label + `(?:\.` + label + `)+)(?::([0-9]+))?([/?#].*)?$`)
})

// spaces percent-encodes the white space that Clean leaves.
var spaces = strings.NewReplacer(" ", "%20", "\n", "%0A", "\t", "%09")

// linkTarget normalizes an address and reports whether Telegram accepts the result;
// Telegram refuses a whole message for one bad address (check_link in
// td/telegram/LinkManager.cpp). The scheme must be http or https and the host must
// contain a dot. User information before the host is refused, because a user name can
// imitate a host.
func linkTarget(address string) (string, bool) {
	parts := linkParts().FindStringSubmatch(Clean(strings.TrimSpace(address)))
	if parts == nil || strings.ContainsFunc(parts[2], func(c rune) bool { return invisible(c) || c == replacement }) {
		return "", false
	}
	host, port := parts[2], parts[3]
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", false
		}
		host += ":" + port
	}
	target := strings.ToLower(parts[1]) + "://" + host + spaces.Replace(parts[4])
	return target, len(target) <= maxAddressBytes
}
