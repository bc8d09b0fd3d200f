package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// maxWidth is the length of the longest comfortable line.
const maxWidth = 110

const (
	checkColumn = 15
	levelColumn = 9
	// narrow is the smallest width of a text beside its check; with less room the text
	// is printed below.
	narrow      = 50
	belowColumn = 4
)

var levelColours = map[Level]term.Colour{OK: term.Green, Note: term.Cyan, Warning: term.Yellow, Problem: term.Red}

// Print writes the findings for a person, grouped by check. Short leaves out those of level
// OK.
func Print(w io.Writer, findings []Finding, short bool) error {
	width, terminal := term.Columns(w)
	if !terminal {
		width = maxWidth
	}
	if short {
		findings = slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Level == OK })
	}
	_, err := io.WriteString(w, page(findings, term.PaletteFor(w), min(width, maxWidth)))
	return err
}

func page(findings []Finding, colours term.Palette, width int) string {
	margin := checkColumn + levelColumn
	below := width-margin < narrow
	if below {
		margin = belowColumn
	}
	indent := "\n" + strings.Repeat(" ", margin)
	var b strings.Builder
	last := ""
	for i := range findings {
		f := &findings[i]
		level, colour := string(f.Level), levelColours[f.Level]
		if f.Fixed {
			level, colour = "mended", term.Green
		}
		check := f.Check
		if check == last && !below {
			check = ""
		}
		last = f.Check
		head := fmt.Sprintf("%-*s%s", checkColumn, check, colours.Paint(colour, level)) + strings.Repeat(" ", levelColumn-len(level))
		if below {
			head = strings.TrimRight(head, " ") + indent
		}
		b.WriteString(head + strings.Join(f.rows(colours, width-margin), indent) + "\n")
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(strings.Join(term.Wrap(summary(findings), width), "\n") + "\n")
	return b.String()
}

// rows returns the fact of a finding, and below it the reason and the solution.
func (f *Finding) rows(colours term.Palette, room int) (rows []string) {
	add := func(mark string, colour term.Colour, lines []string) {
		for _, line := range lines {
			rows = append(rows, colours.Paint(colour, mark+line))
			mark = strings.Repeat(" ", utf8.RuneCountInString(mark))
		}
	}
	add("", "", term.Wrap(f.What, room))
	if f.Why != "" {
		add("", term.Faint, term.Wrap(f.Why, room))
	}
	if f.Failed != "" {
		add("", term.Red, term.Wrap("It could not be mended: "+f.Failed, room))
	}
	if f.Command != "" && !f.Fixed {
		command := []string{f.Command} // whole, for copying
		if strings.ContainsAny(f.Command, "`,;") {
			command = term.Wrap(f.Command, room-len("> ")) // words of advice
		}
		add("→ ", term.Cyan, command)
	}
	return rows
}

func summary(findings []Finding) string {
	count, mended, fixable := map[Level]int{}, 0, 0
	for i := range findings {
		switch f := &findings[i]; {
		case f.Fixed:
			mended++
		case f.Fixable && f.Failed == "":
			fixable++
			fallthrough
		default:
			count[f.Level]++
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
