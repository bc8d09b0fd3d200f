package rules

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// maskExpression matches what package capture puts in the place of a secret.
const maskExpression = `\[masked:[^\]]*\]`

// masked returns the length of the secret in whose place s stands, in bytes, and whether s is a mask.
func masked(s string) (n int, ok bool) {
	inner, isMask := strings.CutPrefix(s, "[masked:")
	inner, hasEnd := strings.CutSuffix(inner, "]")
	if !isMask || !hasEnd {
		return 0, false
	}
	digits, _, _ := strings.Cut(strings.TrimSpace(inner), " ")
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}

// secretLength returns the length of a value that may be a secret, or 0 if it stands for none: it is
// what programs write for nothing, or the app itself has put it in the place of a secret.
func secretLength(value string) int {
	if n, isMask := masked(value); isMask {
		return n
	}
	switch strings.ToLower(strings.Trim(value, "[]<>(){}")) {
	case "undefined", "function", "[object object]", "object object":
		return 0
	}
	upper := strings.ToUpper(value)
	for _, own := range []string{"REDACTED", "FILTERED", "CHANGE_ME", "CHANGEME"} {
		if strings.Contains(upper, own) {
			return 0
		}
	}
	if strings.Trim(value, "*•.") == "" || strings.Trim(upper, "X") == "" {
		return 0
	}
	return len(value)
}

// expression compiles an expression when it is first used.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
