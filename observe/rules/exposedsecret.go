package rules

import "bareclaw/observe/capture"

var exposedSecret = Rule{
	ID:       "exposed-secret",
	Category: Security,
	Severity: Critical,
	Title:    "Secret in a response",
	Advice:   "Leave secret fields out of what the endpoint returns: select the fields that the client needs.",
	Needs:    capture.Response | capture.Body,
	Check:    checkExposedSecret,
	clears:   repliedJSON,
}

func checkExposedSecret(s *Subject) []Match {
	if !repliedJSON(s) {
		return nil
	}
	var matches []Match
	for _, key := range keys(s.receivedJSON(), isExposed) {
		matches = append(matches, Match{Description: Describe("The response has a value of %q.", key)})
	}
	return matches
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
