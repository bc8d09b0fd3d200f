package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"bareclaw/internal/term"
)

// ErrDeclined ends a command that a person does not want to go on.
var ErrDeclined = errors.New("nothing was done")

// Confirm asks the person at the terminal whether to go on, and returns ErrDeclined if not. Without
// a terminal Confirm asks nothing. Confirm blocks until there is an answer or the command is
// interrupted.
func (c *Context) Confirm(question string) error {
	if !term.IsTerminal(c.In) {
		return nil
	}
	_, _ = fmt.Fprint(c.Err, term.WrapIndented(c.Err, "", question)+" [y/N] ")
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { // ends with the input, or the process
		text, err := bufio.NewReader(c.In).ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case <-c.Done():
		return context.Cause(c.Context)
	case l := <-read:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return fmt.Errorf("read the answer: %w", l.err)
		}
		if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(l.text))) {
			return ErrDeclined
		}
		return nil
	}
}
