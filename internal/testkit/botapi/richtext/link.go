package richtext

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

var (
	linkScheme = regexp.MustCompile(`^([^:/?#@\[\]]*)://`)
	linkHost   = regexp.MustCompile(`^(?:[-A-Za-z0-9._!$,~*'();&+=]|%[0-9a-fA-F]{2}|[^\x00-\x7f])*$`)
	linkUser   = regexp.MustCompile(`^(?:[-A-Za-z0-9._!$,~*'();&+=:]|%[0-9a-fA-F]{2}|[^\x00-\x7f])*$`)
	appLink    = regexp.MustCompile(`^(?i:tg|ton|tonsite):(?://)?[-A-Za-z0-9_.]+(?:[/?#].*)?$`)
)

// words are an error in the words of Telegram, which begin with a capital.
type words string

func (w words) Error() string { return string(w) }

// checkURL refuses the links TDLib refuses in an entity, which refuses the
// whole message with it. A host needs a dot: http://localhost:3000 is refused.
// What follows the host is not looked at.
func checkURL(link string) error {
	if appLink.MatchString(link) {
		return nil
	}
	if scheme := linkScheme.FindStringSubmatch(link); scheme != nil {
		if name := strings.ToLower(scheme[1]); name != "http" && name != "https" {
			return words("Unsupported URL protocol")
		}
		link = link[len(scheme[0]):]
	}
	if end := strings.IndexAny(link, "/?#"); end >= 0 {
		link = link[:end]
	}
	if sep := strings.LastIndexAny(link, ":]@"); sep > 0 && link[sep] == ':' {
		if port, err := strconv.ParseUint(link[sep+1:], 10, 16); err != nil || port == 0 {
			return words("Wrong port number specified in the URL")
		}
		link = link[:sep]
	}
	at := strings.LastIndexByte(link, '@')
	return checkHost(link[at+1:], link[:max(at, 0)])
}

func checkHost(host, user string) error {
	if v6, ok := strings.CutPrefix(host, "["); ok {
		if _, err := netip.ParseAddr(strings.TrimSuffix(v6, "]")); err != nil {
			return words("Wrong IPv6 address specified in the URL")
		}
		return nil
	}
	switch {
	case host == "":
		return words("URL host is empty")
	case host == ".":
		return words("Host is invalid")
	case !linkHost.MatchString(host):
		return words("Disallowed character in URL host")
	case !linkUser.MatchString(user):
		return words("Disallowed character in URL userinfo")
	case !strings.Contains(host, "."):
		return words("Wrong HTTP URL")
	}
	return nil
}
