package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"bareclaw/internal/term"
)

// show prints lines, which are harmless already, on standard output.
func (c *Context) show(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	return c.print(strings.Join(lines, "\n") + "\n")
}

// say prints lines, as far as somebody reads them.
func (c *Context) say(lines []string) {
	for _, line := range lines {
		_, _ = fmt.Fprintln(c.Out, term.SafeLine(line))
	}
}

// json prints a value as one JSON document for people, in lines.
func (c *Context) json(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("make the JSON output: %w", err)
	}
	return c.print(escaped(b.Bytes()) + "\n")
}

func (c *Context) print(text string) error {
	if _, err := fmt.Fprint(c.Out, text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// sayf prints a line about the progress of a command.
func (c *Context) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Out, format+"\n", args...) // without a reader there is still the exit status
}

// tell prints a line on standard error: for a person, and no part of the output.
func (c *Context) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Err, format+"\n", args...)
}

// document prints one JSON document, in which no character commands the terminal
// that may show it.
func (c *Context) document(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("make the JSON output: %w", err)
	}
	return c.print(escaped(raw) + "\n")
}

// escaped returns a JSON document as a terminal may show it.
func escaped(doc []byte) string { return string(term.SafeJSON(bytes.TrimSpace(doc))) }

// unlimited is the width of what no terminal shows: programs read all of a line.
const unlimited = math.MaxInt

// width returns how wide the lines of the output may be, in cells.
func (c *Context) width() int {
	if n, terminal := term.Columns(c.Out); terminal {
		return n
	}
	return unlimited
}
