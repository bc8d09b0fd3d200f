package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"bareclaw/internal/term"
)

// PrintLines prints lines on standard output. The lines must be safe for a terminal.
func (c *Context) PrintLines(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	return c.Print(strings.Join(lines, "\n") + "\n")
}

// Say prints lines of any text on standard output.
func (c *Context) Say(lines []string) {
	for _, line := range lines {
		_, _ = fmt.Fprintln(c.Out, term.SafeLine(line))
	}
}

// PrintIndented prints a value as an indented JSON document.
func (c *Context) PrintIndented(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // for people too
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return c.printDocument(b.Bytes(), err)
}

// Print prints a text on standard output.
func (c *Context) Print(text string) error {
	if _, err := fmt.Fprint(c.Out, text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// Sayf prints a line about the progress of a command.
func (c *Context) Sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Out, format+"\n", args...) // without a reader there is still the exit status
}

// Tellf prints a line for a person on standard error.
func (c *Context) Tellf(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Err, format+"\n", args...)
}

// PrintJSON prints a value as a JSON document on one line. Characters that would control
// a terminal are escaped.
func (c *Context) PrintJSON(v any) error {
	raw, err := json.Marshal(v)
	return c.printDocument(raw, err)
}

func (c *Context) printDocument(raw []byte, err error) error {
	if err != nil {
		return fmt.Errorf("make the JSON output: %w", err)
	}
	return c.Print(escaped(raw) + "\n")
}

// escaped escapes the characters of a JSON document that would control a terminal.
func escaped(doc []byte) string { return string(term.SafeJSON(bytes.TrimSpace(doc))) }

// Unlimited is the width of an output that is no terminal.
const Unlimited = math.MaxInt

// Width returns the width of the output in cells.
func (c *Context) Width() int {
	if n, terminal := term.Columns(c.Out); terminal {
		return n
	}
	return Unlimited
}
