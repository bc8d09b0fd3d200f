package term

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// Wrap breaks a text into lines of at most width cells, between words only: what is
// longer than a line, such as a path, stays whole on a line of its own, so that it can
// be copied. So does what stands between a pair of backticks, which is a command.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range words(text) {
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

// ActionPrefix stands before what there is to do; the lines that follow stand beside it.
const ActionPrefix = "-> "

// WrapIndented returns the lines of a text, each with an indent, as they are, or if out is a
// terminal so that it need not break them. What follows a line that begins further to
// the right does so too.
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

// words returns the parts of a text between which a line may end.
func words(text string) []string {
	all := strings.Fields(text)
	if strings.Count(text, "`")%2 != 0 { // no pairs: what is meant is not known
		return all
	}
	var joined []string
	open := false
	for _, word := range all {
		if open {
			joined[len(joined)-1] += " " + word
		} else {
			joined = append(joined, word)
		}
		open = open != (strings.Count(word, "`")%2 != 0)
	}
	return joined
}
