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
	Advice:   "Return a general message, and log what the database or the configuration said.",
	Needs:    capture.Response | capture.Body,
	Check:    checkErrorInfoLeak,
	clears:   repliedError,
}

const (
	quote = `(?:\\*["` + "`" + `\[]|&quot;|&#34;)?`
	table = quote + `[\w.]+\S*`
)

var (
	databaseURL = expression(`(?i)\b(?:postgres(?:ql)?|mysql2?|mariadb|mongodb(?:\+srv)?|rediss?|sqlserver|mssql)://[^\s"'<>]+`)
	// Prose has "select … from" too, but not in capitals, with an asterisk or with names in quotes.
	sqlFragment = expression(`\bSELECT\s+[^<>;]+?\s+FROM\s+\S` +
		`|(?i:\bselect\s+(?:distinct\s+)?(?:\*|\\*["` + "`" + `]\w[^<>;]*?)\s+from\s+\S)` +
		`|(?i:\binsert\s+into\s+` + table + `\s*(?:\(|\bvalues\b))` +
		`|(?i:\bupdate\s+` + table + `\s+set\s+[^<>;]*?=)` +
		`|(?i:\bdelete\s+from\s+` + table + `\s+where\s)`)
	secretInError = expression(`(?i)([\w-]*(?:api_?key|secret|token))\s*([:=])\s*["']?(` + maskExpression + `|[A-Za-z0-9_\-.+/]+)`)
)

func checkErrorInfoLeak(s *Subject) []Match {
	if !isErrorReply(s.Request) {
		return nil
	}
	var matches []Match
	body := string(s.Request.Received.Body)
	if strings.Contains(body, "://") && leaks(s.Request, body, databaseURL()) {
		matches = append(matches, Match{Description: Describe("The error shows the URL of a database.")})
	}
	if leaks(s.Request, body, sqlFragment()) {
		matches = append(matches, Match{Description: Describe("The error shows a part of an SQL query.")})
	}
	if showsSecret(body) {
		matches = append(matches, Match{Description: Describe("The error shows the value of a secret.")})
	}
	return matches
}

// leaks reports whether the body has what the pattern says, and the client has not sent it itself.
func leaks(r *capture.Request, body string, pattern *regexp.Regexp) bool {
	for _, found := range pattern.FindAllString(body, SecretScanArrayLimit) {
		if !echoes(r, found) {
			return true
		}
	}
	return false
}

// showsSecret leaves out tokens against forged requests, which pages must have.
func showsSecret(body string) bool {
	for _, found := range secretInError().FindAllStringSubmatch(body, -1) {
		key := strings.ToLower(found[1])
		if strings.Contains(key, "csrf") || strings.Contains(key, "xsrf") {
			continue
		}
		least := MinSecretValueLength
		if found[2] == ":" {
			least = MinProseSecretLength
		}
		if secretLength(found[3]) >= least {
			return true
		}
	}
	return false
}
