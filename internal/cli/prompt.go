package cli

import (
	"cmp"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
)

// promptCells is how much of a prompt is shown, in cells. A terminal may show less.
const promptCells = 200

// firstWords returns the beginning of a prompt on one line, after the names of its media.
func firstWords(p api.Prompt) string {
	var words []string
	for _, b := range p.Blocks {
		if b.Type != "text" {
			words = append(words, "["+cmp.Or(b.MediaType, b.Type)+"]")
		}
	}
	return command.Fit(term.SafeLine(strings.Join(append(words, p.Text), " ")), promptCells)
}
