package rules

import (
	"strings"

	"bareclaw/observe/capture"
)

// maskExpression matches what package capture puts in the place of a secret.
const maskExpression = `\[masked:[^\]]*\]`

// secretLength returns the length of a value that may be a secret, or 0 if it stands for none: it is
// what programs write for nothing, or the app itself has put it in the place of a secret.
func secretLength(value string) int {
	if n, isMask := capture.MaskedLength(value); isMask {
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
