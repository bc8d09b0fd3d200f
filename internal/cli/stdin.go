package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxText bounds a text that is read from standard input, in bytes.
const maxText = 32 << 20

// errTooLong says that there is more on standard input than is read of it.
var errTooLong = fmt.Errorf("the text on standard input is longer than %d MiB", maxText>>20)

// errNoText says that standard input is no text, of which some would be lost on the way.
var errNoText = errors.New("standard input is not UTF-8; iconv makes it that, if it is a text")

// text returns what an argument stands for: itself, or standard input without its last
// line ends. It blocks until that ends, or the command is interrupted.
func messageText(c *Context, arg string) (string, error) {
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
