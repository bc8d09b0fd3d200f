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

var levelColours = map[Level]term.Colour{OK: term.Green, Note: term.Cyan, Warning: term.Yellow, Problem: term.Red}

// Print writes the findings for a person, grouped by check.
func Print(w io.Writer, findings []Finding, s Style) error {
	width, margin := cmp.Or(s.Width, maxWidth), checkColumn+levelColumn
	below := width-margin < narrow
	if below {
		margin = belowColumn
	}
	indent := strings.Repeat(" ", margin)
	p := page{colours: term.Palette{On: s.Colour}, indent: indent, room: width - margin}
	last := ""
	for i := range findings {
		f := &findings[i]
		if s.Short && f.Level == OK {
			continue
		}
		level, colour := string(f.Level), levelColours[f.Level]
		if f.Fixed {
			level, colour = "mended", term.Green
		}
		check := f.Check
		if check == last && !below {
			check = ""
		}
		last = f.Check
		p.head = fmt.Sprintf("%-*s%s", checkColumn, check, p.colours.Paint(colour, level)) + strings.Repeat(" ", levelColumn-len(level))
		if below {
			p.head = strings.TrimRight(p.head, " ") + "\n" + indent
		}
		p.finding(f)
	}
	if p.Len() > 0 {
		p.WriteString("\n")
	}
	p.WriteString(strings.Join(term.Wrap(summary(findings), width), "\n") + "\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// A page is the text of the findings.
type page struct {
	strings.Builder
	colours term.Palette
	head    string // begins the next line
	indent  string // begins all others
	room    int    // of a line after its indent
}

// finding writes the fact of a finding, and below it the reason and the solution.
func (p *page) finding(f *Finding) {
	p.lines("", "", term.Wrap(f.What, p.room))
	if f.Why != "" {
		p.lines("", term.Faint, term.Wrap(f.Why, p.room))
	}
	if f.Failed != "" {
		p.lines("", term.Red, term.Wrap("It could not be mended: "+f.Failed, p.room))
	}
	if f.Command != "" && !f.Fixed {
		command := []string{f.Command} // whole, for copying
		if strings.ContainsAny(f.Command, "`,;") {
			command = term.Wrap(f.Command, p.room-len("> ")) // words of advice
		}
		p.lines("→ ", term.Cyan, command)
	}
}

func (p *page) lines(mark string, colour term.Colour, lines []string) {
	for _, line := range lines {
		p.WriteString(p.head + p.colours.Paint(colour, mark+line) + "\n")
		p.head = p.indent
		if mark != "" {
			mark = "  "
		}
	}
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
