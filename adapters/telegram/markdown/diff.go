package markdown

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-telegram/bot/models"
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

// Edit adds a change of a file: the name, and in an expandable quotation the removed and
// added lines with some context. The change has at most about 3,500 UTF-16 units; longer lines
// are shortened, and lines beyond the limit are counted.
func (b *Builder) Edit(file, before, after string) *Builder {
	return b.change("Edit", file, before, after)
}

// Write adds a newly written file in the format of Edit, with all lines as added.
func (b *Builder) Write(file, content string) *Builder { return b.change("Write", file, "", content) }

func (b *Builder) change(what, file, before, after string) *Builder {
	b.startLine()
	b.Bold(what+": ").code(models.MessageEntity{Type: models.MessageEntityTypeCode}, Shorten(Clean(file), maxFileUnits))
	b.write("\n")
	b.begin(models.MessageEntity{Type: models.MessageEntityTypeExpandableBlockquote})
	units, lines := 0, diffLines(wholeLines(before), wholeLines(after))
	for i, line := range lines {
		if units += Length(line); units > maxDiffUnits {
			b.write(fmt.Sprintf("… %d more lines\n", len(lines)-i))
			break
		}
		b.write(line)
	}
	if len(lines) == 0 {
		b.write("no lines changed\n")
	}
	b.text = b.text[:len(b.text)-1]
	b.end()
	b.broken = true
	return b
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
