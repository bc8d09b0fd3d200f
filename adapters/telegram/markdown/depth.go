package markdown

import "strings"

// maxDepth limits the quotes and lists opened in a single line. Parsing time grows with
// the square of the depth: a depth of 20,000 takes seconds.
const maxDepth = 200

// tooDeep reports whether a line opens more than maxDepth quotes and lists.
func tooDeep(source string) bool {
	for line := range strings.Lines(source) {
		if len(line) > maxDepth && depth(line) > maxDepth {
			return true
		}
	}
	return false
}

// depth returns the number of quotes and lists opened in a line.
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
