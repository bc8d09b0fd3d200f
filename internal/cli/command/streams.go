package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"bareclaw/internal/plainjson"
	"bareclaw/internal/term"
)

// maxText is the size of the largest text from standard input, in bytes.
const maxText = 32 << 20

// errTooLong means that standard input exceeds maxText.
var errTooLong = fmt.Errorf("the text on standard input is longer than %d MiB", maxText>>20)

// errNoText means that standard input is not UTF-8, so that parts would be lost.
var errNoText = errors.New("standard input is not UTF-8; convert the text with iconv")

// MessageText returns the text that an argument stands for: the argument, or for "-" all of
// standard input without the line ends at its end. MessageText blocks until the input ends
// or the command is interrupted.
func MessageText(c *Context, arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	type result struct {
		b   []byte
		err error
	}
	read := make(chan result, 1)
	go func() { // ends with the input, or the process
		b, err := io.ReadAll(io.LimitReader(c.In, maxText+1))
		read <- result{b, err}
	}()
	select {
	case <-c.Done():
		return "", context.Cause(c.Context)
	case r := <-read:
		switch {
		case r.err != nil:
			return "", fmt.Errorf("read the text from standard input: %w", r.err)
		case len(r.b) > maxText:
			return "", errTooLong
		case !utf8.Valid(r.b):
			return "", errNoText
		}
		return strings.TrimRight(string(r.b), "\r\n"), nil
	}
}

// PrintLines prints lines on standard output. The lines must be safe for a terminal.
func (c *Context) PrintLines(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	return c.Print(strings.Join(lines, "\n") + "\n")
}

// PrintTable prints a table on standard output.
func (c *Context) PrintTable(t *Table) error {
	return c.PrintLines(t.Lines(term.PaletteFor(c.Out), c.Width())...)
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
	e := plainjson.NewEncoder(&b) // for people too
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return c.printDocument(b.Bytes(), err)
}

// HasPrintedJSON reports whether the command has printed a JSON document, which then says what went
// wrong as well.
func (c *Context) HasPrintedJSON() bool { return c.printed }

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
	c.printed = true
	return c.Print(string(term.SafeJSON(bytes.TrimSpace(raw))) + "\n")
}

// Unlimited is the width of an output that is no terminal.
const Unlimited = math.MaxInt

// Width returns the width of the output in cells.
func (c *Context) Width() int {
	if n, terminal := term.Columns(c.Out); terminal {
		return n
	}
	return Unlimited
}
