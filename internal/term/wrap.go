package term

import (
	"io"
	"regexp"
	"strings"

	"github.com/rivo/uniseg"
)

// Wrap breaks a text between words into lines of at most width cells. A longer word, such
// as a path, and a command in backticks stay whole on a line, so that they can be copied.
func Wrap(text string, width int) []string {
	words := regexp.MustCompile("(?:`[^`]*`|[^\\s])+") // compiled here, because session hosts need none
	var lines []string
	line := ""
	for _, word := range words.FindAllString(text, -1) {
		switch {
		case line == "":
			line = word
		case uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// ActionPrefix begins an advice. The following lines of the advice are indented to match.
const ActionPrefix = "-> "

// WrapIndented indents the lines of a text, and wraps them if out is a terminal. The rest
// of an indented line keeps the indent.
func WrapIndented(out io.Writer, indent, text string) string {
	width, terminal := Columns(out)
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		rest := strings.TrimLeft(line, " ")
		before := indent + line[:len(line)-len(rest)]
		if !terminal {
			lines = append(lines, before+rest)
			continue
		}
		beside := before
		if strings.HasPrefix(rest, ActionPrefix) {
			beside += strings.Repeat(" ", len(ActionPrefix))
		}
		for _, part := range Wrap(rest, width-len(beside)) {
			lines = append(lines, before+part)
			before = beside
		}
	}
	return strings.Join(lines, "\n")
}
