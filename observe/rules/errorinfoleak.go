package rules

import (
	"regexp"
	"strings"

	"bareclaw/observe/capture"
)

var errorInfoLeak = Rule{
	ID:       "error-info-leak",
	Category: Security,
	Severity: Critical,
	Title:    "Internals in an error response",
	Advice:   "Return a general message, and log the details.",
	Needs:    capture.Response | capture.Body,
	Check:    checkErrorInfoLeak,
	Proof:    ByKind,
	clears:   hasBody,
}

const (
	quote = `(?:\\*["` + "`" + `\[]|&quot;|&#34;)?`
	table = quote + `[\w.]+\S*`
)

var (
	databaseURL = expression{text: `(?i)\b(?:postgres(?:ql)?|mysql2?|mariadb|mongodb(?:\+srv)?|rediss?|sqlserver|mssql)://[^\s"'<>]+`}
	// Prose has "select … from" too, but not in capitals, with an asterisk or with names in quotes.
	sqlFragment = expression{text: `\bSELECT\s+[^<>;]+?\s+FROM\s+\S` +
		`|(?i:\bselect\s+(?:distinct\s+)?(?:\*|\\*["` + "`" + `]\w[^<>;]*?)\s+from\s+\S)` +
		`|(?i:\binsert\s+into\s+` + table + `\s*(?:\(|\bvalues\b))` +
		`|(?i:\bupdate\s+` + table + `\s+set\s+[^<>;]*?=)` +
		`|(?i:\bdelete\s+from\s+` + table + `\s+where\s)`}
	secretInError = expression{text: `(?i)([\w-]*(?:api_?key|secret|token))\s*([:=])\s*["']?(` + maskExpression + `|[A-Za-z0-9_\-.+/]+)`}
)

func checkErrorInfoLeak(s *Subject) []Match {
	if !isErrorReply(s.Request) {
		return nil
	}
	var matches []Match
	body := string(s.Request.Received.Body)
	if leaks(s.Request, body, databaseURL.pattern(), "://") {
		matches = append(matches, Match{Description: Describe("The error response shows the URL of a database.")})
	}
	if leaks(s.Request, body, sqlFragment.pattern(), "select", "insert", "update", "delete") {
		matches = append(matches, Match{Description: Describe("The error response shows a part of an SQL query.")})
	}
	if showsSecret(body) {
		matches = append(matches, Match{Description: Describe("The error response shows the value of a secret.")})
	}
	return matches
}

// leaks reports whether the body has what the pattern says, and the client has not sent it itself. The
// pattern matches nothing without one of the words.
func leaks(r *capture.Request, body string, pattern *regexp.Regexp, words ...string) bool {
	echoed := make(map[string]bool)
	for window := range around(body, words...) {
		for _, found := range pattern.FindAllString(window, -1) {
			if echoed[found] {
				continue
			}
			if !echoes(r, found) {
				return true
			}
			echoed[found] = true
			if len(echoed) == maxEchoes {
				return false
			}
		}
	}
	return false
}

// showsSecret leaves out tokens against forged requests, which pages must have.
func showsSecret(body string) bool {
	for window := range around(body, "api_key", "apikey", "secret", "token") {
		for _, found := range secretInError.pattern().FindAllStringSubmatch(window, -1) {
			key := strings.ToLower(found[1])
			least := MinSecretValueLength
			if found[2] == ":" {
				least = MinProseSecretLength
			}
			forPages := strings.Contains(key, "csrf") || strings.Contains(key, "xsrf")
			if !forPages && secretLength(found[3]) >= least {
				return true
			}
		}
	}
	return false
}
