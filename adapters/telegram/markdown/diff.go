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

// Diff formats an edit of a file: the name, and in an expandable quotation the removed
// and added lines with some context. The document has at most about 3,500 UTF-16 units;
// longer lines are shortened, and lines beyond the limit are counted.
func Diff(file, before, after string) Document { return changes("Edit", file, before, after) }

// Write formats a newly written file in the format of Diff, with all lines as added.
func Write(file, content string) Document { return changes("Write", file, "", content) }

func changes(what, file, before, after string) Document {
	lines := diffLines(wholeLines(before), wholeLines(after))
	var b Builder
	b.Bold(what + ": ").Code(Shorten(Clean(file), maxFileUnits)).Text("\n")
	var shown strings.Builder
	units := 0
	for i, line := range lines {
		if units += Length(line); units > maxDiffUnits {
			fmt.Fprintf(&shown, "… %d more lines", len(lines)-i)
			break
		}
		shown.WriteString(line)
	}
	if len(lines) == 0 {
		shown.WriteString("no lines changed")
	}
	return b.Quote(true, strings.TrimRight(shown.String(), "\n")).Document()
}

// diffLines returns the lines of a diff, each with the marker column.
func diffLines(before, after string) (lines []string) {
	columns := map[udiff.OpKind]string{udiff.Delete: removed, udiff.Insert: added, udiff.Equal: unchanged}
	u, _ := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), diffContext) // no error: these are the edits of before
	for i, h := range u.Hunks {
		if i > 0 {
			lines = append(lines, skippedLines+"\n")
		}
		for _, l := range h.Lines {
			text := expandTabs(Clean(strings.TrimRight(l.Content, "\r\n")))
			lines = append(lines, Shorten(columns[l.Kind]+text, maxDiffLineUnits)+"\n")
		}
	}
	return lines
}

// wholeLines terminates the last line, to ignore a missing line break at the end of a
// file.
func wholeLines(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
