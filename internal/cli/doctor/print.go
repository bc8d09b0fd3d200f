package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// A Style configures the printing of findings.
type Style struct {
	Colour bool
	Short  bool // omit findings of level OK
	Width  int  // characters per line; 0: maxWidth
}

// maxWidth is the length of the longest comfortable line.
const maxWidth = 110

// StyleFor returns the width and colours for the output w.
func StyleFor(w io.Writer) Style {
	width, terminal := term.Columns(w)
	if !terminal {
		width = maxWidth
	}
	return Style{Colour: term.PaletteFor(w).On, Width: min(width, maxWidth)}
}

const (
	checkColumn = 15
	levelColumn = 9
	// narrow is the smallest width of a text beside its check; with less room the text
	// is printed below.
	narrow      = 50
	belowColumn = 4
)

// A sheet is the text of the findings.
type sheet struct {
	strings.Builder
	colours term.Palette
	width   int
	below   bool // texts do not fit beside their checks
	margin  int  // column at which texts begin
}

// Print writes the findings for a person, grouped by check.
func Print(w io.Writer, findings []Finding, s Style) error {
	width := cmp.Or(s.Width, maxWidth)
	b := &sheet{colours: term.Palette{On: s.Colour}, width: width, margin: checkColumn + levelColumn}
	if b.below = width-b.margin < narrow; b.below {
		b.margin = belowColumn
	}
	last := ""
	for i := range findings {
		f := &findings[i]
		if s.Short && f.Level == OK {
			continue
		}
		head := f.Check
		if head == last && !b.below {
			head = ""
		}
		last = f.Check
		b.finding(head, f)
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(strings.Join(term.Wrap(summary(findings), width), "\n") + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// finding writes a finding: the check, the level and the fact, and below the reason and
// the solution.
func (b *sheet) finding(check string, f *Finding) {
	level, colour := string(f.Level), levelColours[f.Level]
	if f.Fixed {
		level, colour = "mended", term.Green
	}
	head := fmt.Sprintf("%-*s%s", checkColumn, check, b.colours.Paint(colour, level))
	if b.below {
		b.WriteString(head + "\n")
		head = b.indent()
	} else {
		head += strings.Repeat(" ", levelColumn-len(level))
	}
	room := b.width - b.margin
	b.lines(head, "", "", term.Wrap(f.What, room))
	if f.Why != "" {
		b.lines(b.indent(), "", term.Faint, term.Wrap(f.Why, room))
	}
	if f.Failed != "" {
		b.lines(b.indent(), "", term.Red, term.Wrap("It could not be mended: "+f.Failed, room))
	}
	if f.Command != "" && !f.Fixed {
		const mark = "→ "
		command := []string{f.Command} // whole, for copying
		if strings.ContainsAny(f.Command, "`,;") {
			command = term.Wrap(f.Command, room-len("> ")) // words of advice
		}
		b.lines(b.indent(), mark, term.Cyan, command)
	}
}

func (b *sheet) indent() string { return strings.Repeat(" ", b.margin) }

// lines writes lines in a colour: the first after head and mark, the others indented.
func (b *sheet) lines(head, mark string, colour term.Colour, lines []string) {
	for _, line := range lines {
		b.WriteString(head + b.colours.Paint(colour, mark+line) + "\n")
		head = b.indent()
		if mark != "" {
			mark = "  "
		}
	}
}

var levelColours = map[Level]term.Colour{OK: term.Green, Note: term.Cyan, Warning: term.Yellow, Problem: term.Red}

func summary(findings []Finding) string {
	count, mended, fixable := map[Level]int{}, 0, 0
	for i := range findings {
		f := &findings[i]
		if f.Fixed {
			mended++
			continue
		}
		count[f.Level]++
		if f.Fixable && f.Failed == "" {
			fixable++
		}
	}
	var parts []string
	for _, l := range []Level{Problem, Warning, Note} {
		if n := count[l]; n > 0 {
			parts = append(parts, humanize.Count(n, string(l)))
		}
	}
	text := cmp.Or(strings.Join(parts, ", "), "Nothing is wrong") + "."
	if mended > 0 {
		text += fmt.Sprintf(" %d mended.", mended)
	}
	if fixable > 0 {
		text += fmt.Sprintf(" `bareclaw doctor --fix` mends %d.", fixable)
	}
	return text
}
