package markdown

import (
	"fmt"
	"iter"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-telegram/bot/models"

	"bareclaw/internal/mdtext"
	"bareclaw/internal/visible"
)

const (
	skippedLines = "⋯"
	// The columns of removed, added and unchanged lines. Telegram trims white space at
	// the beginning of a quotation, hence no-break spaces for unchanged lines.
	removed, added, unchanged = "- ", "+ ", "\u00a0\u00a0"
)

// A DiffSize says how much of a change is shown. An Excerpt has at most about 3,500 UTF-16 units:
// unchanged lines apart from the changes are left out, long lines are shortened, lines beyond the
// limit are counted, and the rest unfolds when somebody taps it. Whole leaves nothing out and
// folds nothing.
type DiffSize bool

// The sizes.
const (
	Excerpt DiffSize = false
	Whole   DiffSize = true
)

// The limits of an excerpt, in UTF-16 units and in unchanged lines around each change.
const (
	maxDiffUnits     = 3000
	maxDiffLineUnits = 200
	maxFileUnits     = 200
	diffContext      = 2
)

// Edit adds a change of a file: the name, and in a quotation the removed and added lines with
// unchanged lines around them. Characters without a glyph and long white space are shown as
// visible.Code does.
func (b *Builder) Edit(file, before, after string, size DiffSize) *Builder {
	return b.change("Edit", file, before, after, size)
}

// Write adds a newly written file in the format of Edit, with all lines as added.
func (b *Builder) Write(file, content string, size DiffSize) *Builder {
	return b.change("Write", file, "", content, size)
}

func (b *Builder) change(what, file, before, after string, size DiffSize) *Builder {
	b.startLine()
	b.Bold(what+": ").code(models.MessageEntity{Type: models.MessageEntityTypeCode}, size.shorten(visible.Line(file), maxFileUnits))
	b.write("\n")
	lines := size.lines(before, after)
	if len(lines) == 0 {
		lines = []string{unchangedLines(before, after) + "\n"}
	}
	quotation := models.MessageEntityTypeExpandableBlockquote
	if size == Whole {
		quotation = models.MessageEntityTypeBlockquote
	}
	b.begin(models.MessageEntity{Type: quotation})
	units := 0
	for i, line := range lines {
		if units += Length(line); size == Excerpt && units > maxDiffUnits {
			b.write(fmt.Sprintf("… %d more lines\n", len(lines)-i))
			break
		}
		b.write(line)
	}
	b.text = b.text[:len(b.text)-1]
	b.end()
	b.broken = true
	return b
}

// unchangedLines describes a change without changed lines.
func unchangedLines(before, after string) string {
	switch {
	case before == after && after == "":
		return "nothing: the file is empty"
	case before == after:
		return "no lines changed"
	}
	return "only the end of the last line changes"
}

func (s DiffSize) shorten(text string, limit int) string {
	if s == Whole {
		return text
	}
	return mdtext.Shorten(text, limit)
}

// lines returns the lines of a diff, each with the marker column.
func (s DiffSize) lines(before, after string) (lines []string) {
	columns := map[udiff.OpKind]string{udiff.Delete: removed, udiff.Insert: added, udiff.Equal: unchanged}
	context := diffContext
	if s == Whole {
		context = 1 + strings.Count(before, "\n")
	}
	before, after = wholeLines(before), wholeLines(after)
	u, _ := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), context) // no error: these are the edits of before
	for i, h := range u.Hunks {
		if i > 0 {
			lines = append(lines, skippedLines+"\n")
		}
		for kind, block := range blocks(h.Lines) {
			for line := range strings.Lines(visible.Code(block)) {
				text := columns[kind] + expandTabs(Clean(strings.TrimSuffix(line, "\n")))
				lines = append(lines, s.shorten(text, maxDiffLineUnits)+"\n")
			}
		}
	}
	return lines
}

// blocks returns the successive lines of a kind as one text each.
func blocks(lines []udiff.Line) iter.Seq2[udiff.OpKind, string] {
	return func(yield func(udiff.OpKind, string) bool) {
		for len(lines) > 0 {
			kind, n := lines[0].Kind, 0
			var b strings.Builder
			for n < len(lines) && lines[n].Kind == kind {
				b.WriteString(lines[n].Content)
				n++
			}
			if lines = lines[n:]; !yield(kind, b.String()) {
				return
			}
		}
	}
}

// wholeLines terminates the last line, to ignore a missing line break at the end of a
// file.
func wholeLines(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
