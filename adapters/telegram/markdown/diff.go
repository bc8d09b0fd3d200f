package markdown

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	maxDiffUnits     = 3000 // the lines of a diff: what is more is counted
	maxDiffLineUnits = 200
	maxFileUnits     = 200
	diffContext      = 2 // lines around each change
	skippedLines     = "⋯"
	// The columns of removed, added and unchanged lines. White space at the
	// beginning of a quotation is trimmed, so that of unchanged lines does not break.
	removed, added, unchanged = "- ", "+ ", "\u00a0\u00a0"
)

// A diffLine is a line and what was done to it.
type diffLine struct{ column, text string }

// Diff shows an edit of a file: its name, and in an expandable quotation the
// lines that were removed and added, with some around them. It is at most about 3,500
// UTF-16 units long; longer lines are shortened, and further ones counted.
func Diff(file, before, after string) Document {
	before, after = wholeLines(before), wholeLines(after)
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), diffContext)
	if err != nil { // its own edits do not fit its input
		return changes("Edit", file, append(allLines(removed, before), allLines(added, after)...))
	}
	var lines []diffLine
	for i, h := range u.Hunks {
		if i > 0 {
			lines = append(lines, diffLine{skippedLines, ""})
		}
		for _, l := range h.Lines {
			lines = append(lines, diffLine{column(l.Kind), l.Content})
		}
	}
	return changes("Edit", file, lines)
}

// Write shows a file that is written as Diff shows an edit: all of its lines are
// added.
func Write(file, content string) Document {
	return changes("Write", file, allLines(added, wholeLines(content)))
}

func column(k udiff.OpKind) string {
	switch k {
	case udiff.Delete:
		return removed
	case udiff.Insert:
		return added
	}
	return unchanged
}

// wholeLines ends the last line, so that a line with and one without a line break
// are the same.
func wholeLines(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

func allLines(column, text string) []diffLine {
	var lines []diffLine
	for line := range strings.Lines(text) {
		lines = append(lines, diffLine{column, line})
	}
	return lines
}

// changes shows as many lines as there is room for.
func changes(what, file string, lines []diffLine) Document {
	var b Builder
	b.Bold(what + ": ").Code(Shorten(Clean(file), maxFileUnits)).Text("\n")
	var shown strings.Builder
	units := 0
	for i, line := range lines {
		text := expandTabs(Clean(strings.TrimRight(line.text, "\r\n")))
		text = Shorten(line.column+text, maxDiffLineUnits) + "\n"
		if units += Length(text); units > maxDiffUnits {
			fmt.Fprintf(&shown, "… %d more lines", len(lines)-i)
			break
		}
		shown.WriteString(text)
	}
	if len(lines) == 0 {
		shown.WriteString("no lines changed")
	}
	return b.Quote(true, strings.TrimRight(shown.String(), "\n")).Document()
}
