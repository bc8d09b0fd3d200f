package rules

import (
	"net/url"
	"slices"
	"strings"

	"bareclaw/observe/capture"
)

var tokenInURL = Rule{
	ID:       "token-in-url",
	Category: Security,
	Severity: Critical,
	Title:    "Secret in a URL",
	Advice:   "Send it in the Authorization header or the body: browsers, proxies and logs keep URLs.",
	Needs:    capture.Response,
	Check:    checkTokenInURL,
	clears:   isLetIn,
}

// isLetIn reports whether the app took the request, which it may not where a token is missing.
func isLetIn(s *Subject) bool { return worked(s.Request) }

// checkTokenInURL leaves WebSockets alone, for which browsers cannot set a header.
func checkTokenInURL(s *Subject) []Match {
	_, query, _ := strings.Cut(s.Request.URL, "?")
	query, _, _ = strings.Cut(query, "#")
	if query == "" || s.Request.End == capture.Upgraded {
		return nil
	}
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if isTokenParameter(unescape(key)) && secretLength(unescape(value)) > 0 {
			names = append(names, unescape(key))
		}
	}
	slices.Sort(names)
	var matches []Match
	for _, key := range slices.Compact(names) {
		matches = append(matches, Match{Description: Describe("The URL contains a value of %q.", key)})
	}
	return matches
}

func isTokenParameter(key string) bool {
	switch key {
	case "token", "api_key", "apiKey", "secret", "password", "access_token", "session_id", "sessionId":
		return true
	}
	return false
}

// unescape returns what a part of a query means, or the part itself if it is not correct.
func unescape(s string) string {
	plain, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return plain
}
