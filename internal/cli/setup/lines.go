package setup

import (
	"fmt"

	"bareclaw/internal/term"
)

// say writes a line as it is.
func (w *wizard) say(format string, args ...any) { _, _ = fmt.Fprintf(w.Out, format+"\n", args...) }

// tell writes a text in lines that the terminal need not break.
func (w *wizard) tell(format string, args ...any) {
	w.say("%s", term.WrapIndented(w.Out, "", fmt.Sprintf(format, args...)))
}

// note is tell for what belongs to a step.
func (w *wizard) note(format string, args ...any) {
	w.say("%s", term.WrapIndented(w.Out, stepIndent, fmt.Sprintf(format, args...)))
}

// stepIndent stands before what belongs to a step.
const stepIndent = "    "

// arrow stands before what there is to do.
const arrow = term.ActionPrefix
