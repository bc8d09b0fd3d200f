package markdown

import (
	"regexp"
	"strings"
	"sync"
)

// ansi matches the control sequences of terminals: colours, movements of the cursor, titles and
// links, of which the label stays.
var ansi = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\x1b\[|\x{9B})[0-?]*[ -/]*[@-~]` + // CSI
		`|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)` + // strings, such as the address of a link
		`|\x1b[!-/]+[0-~]|\x1b[0-OQ-WYZ` + "`" + `-~]`) // others
})

// WithoutANSI removes the control sequences of terminals, such as colours, from an answer.
func WithoutANSI(s string) string {
	if !strings.ContainsAny(s, "\x1b\u009b") {
		return s
	}
	return ansi().ReplaceAllString(s, "")
}

// cutANSI matches the beginning of a control sequence at the end of a text.
var cutANSI = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\x1b|\x1b\[[0-?]*[ -/]*|\x1b[\]PX^_][^\x07\x1b]*\x1b?|\x1b[!-/]+|\x{9B}[0-?]*[ -/]*)$`)
})

// withoutCutANSI removes an incomplete control sequence at the end.
func withoutCutANSI(s string) string {
	end := tail(s)
	if !strings.ContainsAny(end, "\x1b\u009b") {
		return s
	}
	return s[:len(s)-len(end)] + cutANSI().ReplaceAllString(end, "")
}
