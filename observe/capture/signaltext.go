package capture

import (
	"strings"
	"unicode/utf8"
)

// MaxSignalText is how much of a text a Signal carries, in bytes. It is more than [MaxText], because
// a Store masks what it keeps, and a secret that is cut can no longer be told from other text.
const MaxSignalText = 4 * MaxText

// CutSignalText returns the beginning of s that a Signal carries, as valid UTF-8. It does not keep the
// memory of a longer s.
func CutSignalText(s string) string {
	if len(s) > MaxSignalText {
		end := MaxSignalText
		for end > MaxSignalText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = strings.Clone(s[:end])
	}
	return strings.ToValidUTF8(s, "?")
}
