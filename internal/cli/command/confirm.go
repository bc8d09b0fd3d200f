package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/term"
	"bareclaw/internal/typo"
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

// ConfirmNew asks the person at the terminal before a channel is made whose name is like that of
// another one. Elsewhere, and where the channels are not known, nothing is asked.
func ConfirmNew(c *Context, gateway *client.Client, channel string) error {
	if !term.IsTerminal(c.In) || InSession() {
		return nil
	}
	all, err := ListChannels(c, gateway)
	if err != nil {
		return nil //nolint:nilerr // the request itself says what is wrong
	}
	var names []string
	for _, ch := range all {
		names = append(names, ch.Channel)
	}
	like := typo.Nearest(channel, names)
	if like == "" {
		return nil
	}
	err = c.Confirm(fmt.Sprintf("There is no channel %s yet, but there is %s. Make %s?", term.SafeLine(channel), term.SafeLine(like), term.SafeLine(channel)))
	if errors.Is(err, ErrDeclined) {
		return fmt.Errorf("%w; the channel that is there is %s", ErrDeclined, like)
	}
	return err
}
