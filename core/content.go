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

// add appends more under a heading. Texts are joined by a blank line; the first block
// converts the whole content to blocks.
func (c *Content) add(head string, more Content) error {
	if len(c.Blocks) == 0 && len(more.Blocks) == 0 {
		if c.Text != "" {
			c.Text += "\n\n"
		}
		c.Text += head + more.Text
		return nil
	}
	err := c.addText(c.Text, head+more.Text)
	c.Text = ""
	c.Blocks = append(c.Blocks, more.Blocks...)
	return err
}

func (c *Content) addText(texts ...string) error {
	for _, text := range texts {
		if text == "" {
			continue
		}
		b, err := EncodeJSON(struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{"text", text})
		if err != nil {
			return err
		}
		c.Blocks = append(c.Blocks, b)
	}
	return nil
}
