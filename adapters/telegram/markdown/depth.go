package markdown

import "strings"

// maxDepth bounds how many quotes and lists may begin in one line. The parser's
// time grows with the square of it: 20,000 take seconds.
const maxDepth = 200

// tooDeep reports whether a line begins more quotes and lists than anybody
// means.
func tooDeep(source string) bool {
	for line := range strings.Lines(source) {
		if len(line) > maxDepth && depth(line) > maxDepth {
			return true
		}
	}
	return false
}

// depth returns how many quotes and lists a line begins.
func depth(line string) int {
	n := 0
	for {
		line = strings.TrimLeft(line, " \t")
		rest := strings.TrimLeft(line, "0123456789")
		switch {
		case rest == "":
			return n
		case rest[0] == '>':
		case strings.IndexByte("-+*.)", rest[0]) < 0 || len(rest) < 2 || !isSpace(rest[1]):
			return n
		}
		line = rest[1:]
		n++
	}
}
