package rules

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"bareclaw/observe/capture"
)

var corsCredentials = Rule{
	ID:       "cors-credentials",
	Category: Security,
	Severity: Warning,
	Title:    "Other websites may act as the user",
	Advice:   "Allow credentials only for a list of your own origins, not for * and not for whatever origin asks.",
	Needs:    capture.Response,
	Check:    checkCORSCredentials,
	clears:   saysOrigins,
}

// saysOrigins reports whether the response shows whom the app allows. One to a page of the app itself does not, which
// is allowed anyway, nor does one to nobody in particular, nor an error, which may come from where there are no rules.
func saysOrigins(s *Subject) bool {
	origin := s.Request.Sent.Header.Get("Origin")
	isWhole := worked(s.Request) && s.Request.Status != http.StatusNotModified
	return origin != "" && isWhole && isForeign(s.Request, origin)
}

func checkCORSCredentials(s *Subject) []Match {
	r := s.Request
	if !allowsCredentials(r) {
		return nil
	}
	if r.Received.Header.Get("Access-Control-Allow-Origin") == "*" {
		return []Match{{Description: Describe("The app allows credentials for every origin (*), which browsers refuse.")}}
	}
	if reflected(r) == "" {
		return nil
	}
	origins := make(map[string]bool)
	for _, other := range s.latest(allowsCredentials) {
		if origin := reflected(other); origin != "" {
			origins[origin] = true
		}
	}
	return []Match{{
		Description: Describe("The app allows credentials for whatever origin asks, such as %s.", message(reflected(r))),
		Likely:      len(origins) < MinReflectedOrigins && reflected(r) != "null",
	}}
}

func allowsCredentials(r *capture.Request) bool {
	return strings.EqualFold(r.Received.Header.Get("Access-Control-Allow-Credentials"), "true")
}

// reflected returns the foreign origin that the app has allowed because it asked, or "". Origins on this
// machine are those of the app's own pages, which a list may well have.
func reflected(r *capture.Request) string {
	origin := r.Sent.Header.Get("Origin")
	if origin == "" || origin != r.Received.Header.Get("Access-Control-Allow-Origin") {
		return ""
	}
	if !isForeign(r, origin) {
		return ""
	}
	return origin
}

// isForeign reports whether an origin is of somebody else's pages.
func isForeign(r *capture.Request, origin string) bool {
	if origin == "null" {
		return true
	}
	address, err := url.Parse(origin)
	return err == nil && !isLocal(address.Hostname()) && !isOwn(r.Sent.Header, address.Host)
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// isOwn reports whether the request is from a page of the host that it asks.
func isOwn(sent http.Header, host string) bool {
	switch sent.Get("Sec-Fetch-Site") {
	case "same-origin", "same-site":
		return true
	}
	return host == sent.Get("Host") || host == sent.Get("X-Forwarded-Host")
}
