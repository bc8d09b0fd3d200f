package chat

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// tabStop is the distance of a terminal's tab stops.
const tabStop = 8

// wrap breaks a text, which may have styles, into rows that end at most at column width if
// each begins at column from. Tabs stay, so that what is copied is what was written.
func wrap(text string, width, from int) (rows []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, "\t") {
			rows = append(rows, wrapVerbatim(line, width, from)...)
			continue
		}
		rows = append(rows, strings.Split(lipgloss.Wrap(line, max(1, width-from), ""), "\n")...)
	}
	return rows
}

// wrapVerbatim is wrap for a line of which no blank may be lost: joined, the rows are the line.
func wrapVerbatim(line string, width, from int) (rows []string) {
	start, blank, column := 0, 0, from // blank: the offset behind the last blank
	var state byte
	for i := 0; i < len(line); {
		seq, cells, n, next := ansi.DecodeSequence(line[i:], state, nil)
		if seq == "\t" {
			cells = tabStop - column%tabStop
		}
		if column+cells > width && column > from {
			end := i
			if blank > start && strings.TrimSpace(line[start:blank]) != "" {
				end = blank
			}
			rows = append(rows, line[start:end])
			i, start, column, state = end, end, from, 0
			continue
		}
		column += cells
		i += n
		state = next
		if seq == "\t" || seq == " " {
			blank = i
		}
	}
	return continued(append(rows, line[start:]))
}

// continued ends the styles of each row, and begins them again in the next.
func continued(rows []string) []string {
	if len(rows) < 2 || !strings.Contains(strings.Join(rows, ""), "\x1b") {
		return rows
	}
	var b strings.Builder
	w := lipgloss.NewWrapWriter(&b)
	_, _ = w.Write([]byte(strings.Join(rows, "\n"))) // a Builder never fails
	_ = w.Close()
	return strings.Split(b.String(), "\n")
}

// withoutTabs replaces the tabs of a row by spaces, for the live rows: the library counts the
// cells of what it draws, and a tab as none.
func withoutTabs(row string) string {
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(row, "\t") {
		if i > 0 {
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
		b.WriteString(part)
		column += lipgloss.Width(part)
	}
	return b.String()
}
