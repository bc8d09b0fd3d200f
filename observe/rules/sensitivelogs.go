package rules

import (
	"strings"

	"bareclaw/internal/humanize"
	"bareclaw/observe/capture"
)

var sensitiveLogs = Rule{
	ID:       "sensitive-logs",
	Category: Security,
	Severity: Warning,
	Title:    "Secret in the log",
	Advice:   "Log which user or key it was, never the secret itself.",
	Needs:    capture.Logged,
	Check:    checkSensitiveLogs,
	Proof:    ByKind,
	clears:   isLogged,
}

// isLogged reports whether all that the request has logged is known.
func isLogged(s *Subject) bool { return isAnswered(s) && s.Request.Dropped == 0 }

const apiKey = "api key"

const quotes = `[\\"'` + "`" + `]*`

var secretInLog = expression{text: `(?i)(password|secret|token|api_?key)` + quotes + `\s*[:=]\s*` + quotes +
	`(` + maskExpression + `|[A-Za-z0-9_\-.+/]+)`}

func checkSensitiveLogs(s *Subject) []Match {
	var names []string
	lines := make(map[string]int)
	for i := range s.Request.Logs {
		for _, key := range loggedSecrets(s.Request.Logs[i].Text) {
			if lines[key] == 0 {
				names = append(names, key)
			}
			lines[key]++
		}
	}
	var matches []Match
	for _, key := range names {
		count := Figure(humanize.Count(lines[key], "line"))
		matches = append(matches, Match{Description: Describe("The log shows the value of %s, in %s.", withArticle(key), count)})
	}
	return matches
}

// withArticle returns what a person calls a secret of a kind.
func withArticle(kind string) string {
	if kind == apiKey {
		return "an API key"
	}
	return "a " + kind
}

// loggedSecrets returns the kinds of secrets whose values a line has, each once.
func loggedSecrets(line string) []string {
	lower := strings.ToLower(line)
	var kinds []string
	for _, kind := range []string{"password", "secret", "token", apiKey} {
		if !mentions(lower, kind) {
			continue
		}
		for _, found := range secretInLog.pattern().FindAllStringSubmatch(line, -1) {
			if mentions(strings.ToLower(found[1]), kind) && secretLength(found[2]) >= MinSecretValueLength {
				kinds = append(kinds, kind)
				break
			}
		}
	}
	return kinds
}

func mentions(text, kind string) bool {
	if kind == apiKey {
		return strings.Contains(text, "apikey") || strings.Contains(text, "api_key")
	}
	return strings.Contains(text, kind)
}
