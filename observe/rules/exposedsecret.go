package rules

import (
	"strings"

	"bareclaw/observe/capture"
)

var exposedSecret = Rule{
	ID:       "exposed-secret",
	Category: Security,
	Severity: Critical,
	Title:    "Secret in a response",
	Advice:   "Return only the fields that the client needs, and no secrets.",
	Needs:    capture.Response | capture.Body,
	Check:    checkExposedSecret,
	clears:   repliedRecords,
}

func checkExposedSecret(s *Subject) []Match {
	if !repliedJSON(s) || isCatalog(path(s.Request)) {
		return nil
	}
	var matches []Match
	for _, key := range keys(s.receivedJSON(), isExposed) {
		matches = append(matches, Match{Description: Describe("The response contains a value of %q.", key)})
	}
	return matches
}

// isCatalog reports whether the path is for the texts of pages, such as what stands beside a field for a password.
func isCatalog(path string) bool {
	for segment := range strings.SplitSeq(strings.ToLower(path), "/") {
		switch segment {
		case "locale", "locales", "i18n", "l10n", "lang", "translations":
			return true
		}
	}
	return false
}

func isExposed(key string, value any) bool {
	switch key {
	case "password", "passwd", "secret", "api_key", "apiKey", "api_secret", "apiSecret", "private_key", "privateKey",
		"client_secret", "clientSecret":
		text, _ := value.(string)
		return secretLength(text) >= MinSecretValueLength
	}
	return false
}
