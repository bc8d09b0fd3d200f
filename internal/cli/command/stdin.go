package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
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
