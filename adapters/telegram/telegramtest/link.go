package telegramtest

import (
	"net/url"
	"strings"
)

// checkURL refuses the links TDLib refuses in an entity, which refuses the
// whole message with it. A host needs a dot: http://localhost:3000 is refused.
func checkURL(link string) error {
	lower := strings.ToLower(link)
	for _, scheme := range []string{"tg:", "ton:", "tonsite:"} {
		if strings.HasPrefix(lower, scheme) {
			return nil
		}
	}
	if scheme, _, found := strings.Cut(lower, "://"); !found {
		link = "http://" + link
	} else if scheme != "http" && scheme != "https" {
		return say("Unsupported URL protocol")
	}
	u, err := url.Parse(link)
	if err != nil || strings.ContainsAny(u.Host, " \n\t\"<>") {
		return say("Wrong URL host specified")
	}
	host := u.Hostname()
	if host == "" {
		return say("URL host is empty")
	}
	if !strings.Contains(host, ".") && !strings.Contains(host, ":") {
		return say("Wrong HTTP URL")
	}
	return nil
}
