package markdown

import (
	"regexp"
	"strconv"
	"sync"
)

// maxDepth limits the quotes and lists opened in a single line. Parsing time grows with
// the square of the depth: a depth of 20,000 takes seconds.
const maxDepth = 200

// tooDeep matches a line that opens more than maxDepth quotes and lists.
var tooDeep = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:[ \t]*(?:>|(?:[-+*]|[0-9]+[.)])[ \t])){` + strconv.Itoa(maxDepth+1) + `}`)
})
