package setup

import (
	"fmt"
	"io"

	"bareclaw/internal/term"
)

// A console writes for a person and asks questions.
type console struct {
	out      io.Writer
	terminal *terminal // nil: nothing is asked
}

// say prints a line.
func (c *console) say(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }

// tell prints a text wrapped for the terminal.
func (c *console) tell(format string, args ...any) {
	c.say("%s", term.WrapIndented(c.out, "", fmt.Sprintf(format, args...)))
}

// note prints an indented text that belongs to a step.
func (c *console) note(format string, args ...any) {
	c.say("%s", term.WrapIndented(c.out, stepIndent, fmt.Sprintf(format, args...)))
}

// stepIndent indents the output of a step.
const stepIndent = "    "

// arrow begins an advice.
const arrow = term.ActionPrefix

// noteAll prints lines that belong to a step.
func (c *console) noteAll(did []string) {
	for _, line := range did {
		c.note("%s", term.SafeLine(line))
	}
}

// show prints the outcome of a step with a word for its state.
func (c *console) show(o Outcome) {
	word := map[string]string{Done: "Done", Unchanged: "Fine", Skipped: "Skipped", Failed: "FAILED"}[o.State]
	c.note("%s: %s", word, term.SafeLine(o.Detail))
	if o.Next != "" {
		c.note(arrow+"%s", term.SafeLine(o.Next))
	}
}
