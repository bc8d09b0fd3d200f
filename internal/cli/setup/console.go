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

// say writes a line as it is.
func (c *console) say(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }

// tell writes a text in lines that the terminal need not break.
func (c *console) tell(format string, args ...any) {
	c.say("%s", term.WrapIndented(c.out, "", fmt.Sprintf(format, args...)))
}

// note is tell for what belongs to a step.
func (c *console) note(format string, args ...any) {
	c.say("%s", term.WrapIndented(c.out, stepIndent, fmt.Sprintf(format, args...)))
}

// stepIndent stands before what belongs to a step.
const stepIndent = "    "

// arrow stands before what there is to do.
const arrow = term.ActionPrefix

// noteAll writes what was done, a line each.
func (c *console) noteAll(did []string) {
	for _, line := range did {
		c.note("%s", term.SafeLine(line))
	}
}

// show writes an outcome for people, each with a word that says it without colours.
func (c *console) show(o Outcome) {
	word := map[string]string{Done: "Done", Unchanged: "Fine", Skipped: "Skipped", Failed: "FAILED"}[o.State]
	c.note("%s: %s", word, term.SafeLine(o.Detail))
	if o.Next != "" {
		c.note(arrow+"%s", term.SafeLine(o.Next))
	}
}
