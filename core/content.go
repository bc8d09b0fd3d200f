package core

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// CheckContent returns an error wrapping ErrBadContent if the content cannot be submitted.
// For a block, CheckContent only checks the first byte of a JSON object.
func CheckContent(c Content) error {
	if len(c.Blocks) == 0 && c.Text == "" {
		return fmt.Errorf("%w: it is empty", ErrBadContent)
	}
	if !utf8.ValidString(c.Text) {
		return fmt.Errorf("%w: the text is not valid UTF-8", ErrBadContent)
	}
	for i, b := range c.Blocks {
		if !bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) { // composing the turn checks the rest
			return fmt.Errorf("%w: block %d is not a JSON object", ErrBadContent, i)
		}
	}
	return nil
}

// Size returns the content's size in bytes.
func (c Content) Size() int {
	n := len(c.Text)
	for _, b := range c.Blocks {
		n += len(b)
	}
	return n
}
