package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"bareclaw/internal/term"
)

// A Style configures the printing of findings.
type Style struct {
	Colour bool
	Short  bool // omit findings of level OK
	Width  int  // characters per line; 0: 100
}

// Print writes the findings for a person, grouped by check.
func Print(w io.Writer, findings []Finding, s Style) error {
	s.Width = cmp.Or(s.Width, 100)
	var b strings.Builder
	last := ""
	for i := range findings {
		f := &findings[i]
		if s.Short && f.Level == OK {
			continue
		}
		head := f.Check
		if head == last && !s.below() {
			head = ""
		}
		last = f.Check
		s.finding(&b, head, f)
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(strings.Join(term.Wrap(summary(findings), s.Width), "\n") + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

const (
	checkColumn = 15
	levelColumn = 9
	// narrow is the smallest width of a text beside its check; with less room the text
	// is printed below.
	narrow      = 50
	belowColumn = 4
)

// finding writes a finding: the check, the level and the fact, and below the reason and
// the solution.
func (s Style) finding(b *strings.Builder, check string, f *Finding) {
	level, colour := string(f.Level), f.Level.colour()
	if f.Fixed {
		level, colour = "mended", term.Green
	}
	head := fmt.Sprintf("%-*s%s", checkColumn, check, s.paint(colour, level))
	if s.below() {
		b.WriteString(head + "\n")
		s.indent(b)
	} else {
		b.WriteString(head + strings.Repeat(" ", levelColumn-len(level)))
	}
	s.wrapped(b, f.What, "")
	if f.Level == OK {
		return
	}
	if f.Why != "" {
		s.indent(b)
		s.wrapped(b, f.Why, term.Faint)
	}
	if f.Failed != "" {
		s.indent(b)
		s.wrapped(b, "It could not be mended: "+f.Failed, term.Red)
	}
	if f.Command != "" && !f.Fixed {
		s.indent(b)
		s.command(b, f.Command)
	}
}

// below reports whether texts do not fit beside their checks.
func (s Style) below() bool { return s.Width-checkColumn-levelColumn < narrow }

// margin returns the column at which texts begin.
func (s Style) margin() int {
	if s.below() {
		return belowColumn
	}
	return checkColumn + levelColumn
}

func (s Style) indent(b *strings.Builder) { b.WriteString(strings.Repeat(" ", s.margin())) }

// wrapped writes a text in the last column.
func (s Style) wrapped(b *strings.Builder, text string, colour term.Colour) {
	for i, line := range term.Wrap(text, s.Width-s.margin()) {
		if i > 0 {
			s.indent(b)
		}
		b.WriteString(s.paint(colour, line) + "\n")
	}
}

// command writes the solution: a command on one line for copying, or wrapped words.
func (s Style) command(b *strings.Builder, command string) {
	const arrow = "→ "
	if !strings.ContainsAny(command, "`,;") {
		b.WriteString(s.paint(term.Cyan, arrow+command) + "\n")
		return
	}
	for i, line := range term.Wrap(command, s.Width-s.margin()-len("> ")) {
		before := arrow
		if i > 0 {
			s.indent(b)
			before = "  "
		}
		b.WriteString(s.paint(term.Cyan, before+line) + "\n")
	}
}

func (s Style) paint(colour term.Colour, text string) string {
	return term.Palette{On: s.Colour}.Paint(colour, text)
}

func (l Level) colour() term.Colour {
	switch l {
	case Problem:
		return term.Red
	case Warning:
		return term.Yellow
	case Note:
		return term.Cyan
	}
	return term.Green
}

// summary returns the last line.
func summary(findings []Finding) string {
	count, mended, fixable := map[Level]int{}, 0, 0
	for i := range findings {
		switch f := &findings[i]; {
		case f.Fixed:
			mended++
		default:
			count[f.Level]++
			if f.Fixable && f.Failed == "" {
				fixable++
			}
		}
	}
	parts := []string{}
	for _, l := range []Level{Problem, Warning, Note} {
		if n := count[l]; n > 0 {
			parts = append(parts, plural(n, string(l)))
		}
	}
	text := "Nothing is wrong."
	if len(parts) > 0 {
		text = strings.Join(parts, ", ") + "."
	}
	if mended > 0 {
		text += fmt.Sprintf(" %d mended.", mended)
	}
	if fixable > 0 {
		text += fmt.Sprintf(" `bareclaw doctor --fix` mends %d.", fixable)
	}
	return text
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
