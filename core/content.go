package core

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

// Bounds of a Prompt.
const (
	MaxPromptBytes   = 64 << 10 // of text, in a single message
	ShortPromptBytes = 1000     // of text, in lists of messages
	MaxPromptBlocks  = 100
)

// A Prompt describes a Content without its media, to keep lists of messages small for any
// size of content.
type Prompt struct {
	Text      string  `json:"text,omitempty"`      // the text, or the text blocks joined by blank lines
	Truncated bool    `json:"truncated,omitempty"` // content beyond the bounds was left out
	User      string  `json:"user,omitempty"`      // the asking user, in an Approval; a Message has an Origin
	Blocks    []Block `json:"blocks,omitempty"`    // empty for plain text
}

// A Block describes a content block.
type Block struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"` // size of the text or the decoded media; 0 for a block with only an address
}

// PromptOf describes a content, with at most MaxPromptBytes of text. The prompt shares the
// memory of a plain text; PromptOf never copies media.
func PromptOf(c Content) Prompt {
	if len(c.Blocks) == 0 {
		text, cut := TruncateText(c.Text, MaxPromptBytes)
		return Prompt{Text: text, Truncated: cut}
	}
	p := Prompt{Blocks: make([]Block, 0, min(len(c.Blocks), MaxPromptBlocks))}
	var text strings.Builder
	for _, raw := range c.Blocks {
		if len(p.Blocks) == MaxPromptBlocks || text.Len() > MaxPromptBytes {
			p.Truncated = true
			break
		}
		b, says := describe(raw)
		p.Blocks = append(p.Blocks, b)
		if says != "" && text.Len() > 0 {
			text.WriteString("\n\n")
		}
		says, _ = TruncateText(says, MaxPromptBytes+utf8.UTFMax) // the cut after the loop truncates further
		text.WriteString(says)
	}
	short, cut := TruncateText(text.String(), MaxPromptBytes)
	p.Text, p.Truncated = short, p.Truncated || cut
	return p
}

// Short returns the prompt with at most ShortPromptBytes of text. Short copies a shortened
// text, to let the whole text be freed.
func (p Prompt) Short() Prompt {
	if text, cut := TruncateText(p.Text, ShortPromptBytes); cut {
		p.Text, p.Truncated = strings.Clone(text), true
	}
	return p
}

// ApprovalPrompt returns a short prompt for an approval of the message, with the sending
// user.
func ApprovalPrompt(m *Message) Prompt {
	p := m.Prompt.Short()
	p.User = m.Origin.User
	return p
}

// IsZero reports whether the prompt is empty: the content is unknown.
func (p Prompt) IsZero() bool { return p.Text == "" && len(p.Blocks) == 0 }

// TruncateText returns the beginning of s, at most limit bytes ending with a whole
// character, and whether the beginning is shorter than s.
func TruncateText(s string, limit int) (start string, cut bool) {
	if len(s) <= limit {
		return s, false
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit], true
}

// describe returns the description of a block, and the text of a text block.
func describe(raw []byte) (b Block, text string) {
	var m blockMembers
	_ = json.Unmarshal(raw, &m) // invalid JSON has the members before the error
	b = Block{Type: m.Type, MediaType: m.Source.MediaType, Bytes: m.Source.Data.n}
	switch {
	case b.Type == "text":
		b.Bytes = int64(len(m.Text))
		return b, m.Text
	case m.Source.Type == "base64":
		b.Bytes = m.Source.Data.n/4*3 - m.Source.Data.padding
	}
	return b, ""
}

// blockMembers are the members of a block that a Block describes. A member of an unexpected
// type, and what follows, counts as absent: adapters check input at acceptance.
type blockMembers struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type      string     `json:"type"`
		MediaType string     `json:"media_type"`
		Data      dataMember `json:"data"`
	} `json:"source"`
}

// A dataMember holds the length of a string in bytes, and the number of base64 padding bytes.
type dataMember struct{ n, padding int64 }

// UnmarshalJSONFrom copies only strings with escapes.
func (d *dataMember) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil || raw.Kind() != '"' {
		return err
	}
	data := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(data, '\\') >= 0 {
		if data, err = jsontext.AppendUnquote(nil, raw); err != nil {
			return err
		}
	}
	d.n = int64(len(data))
	d.padding = d.n - int64(len(bytes.TrimRight(data, "=")))
	return nil
}
