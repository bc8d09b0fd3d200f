package markdown

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	maxDiffUnits     = 3000 // limit of a diff; the lines beyond are only counted
	maxDiffLineUnits = 200
	maxFileUnits     = 200
	diffContext      = 2 // context lines around each change
	skippedLines     = "⋯"
	// The columns of removed, added and unchanged lines. Telegram trims white space at
	// the beginning of a quotation, hence no-break spaces for unchanged lines.
	removed, added, unchanged = "- ", "+ ", "\u00a0\u00a0"
)

// A diffLine is a line of a diff with the marker column.
type diffLine struct{ column, text string }

// Diff formats an edit of a file: the name, and in an expandable quotation the removed
// and added lines with some context. The document has at most about 3,500 UTF-16 units;
// longer lines are shortened, and lines beyond the limit are counted.
func Diff(file, before, after string) Document {
	before, after = wholeLines(before), wholeLines(after)
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), diffContext)
	if err != nil { // the computed edits do not apply to before
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

// Write formats a newly written file in the format of Diff, with all lines as added.
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

// wholeLines terminates the last line, to ignore a missing line break at the end of a
// file.
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

// changes formats lines up to the limit of maxDiffUnits and counts the rest.
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
