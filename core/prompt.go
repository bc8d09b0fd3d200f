package core

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a Prompt.
const (
	MaxPromptBytes   = 64 << 10 // of its text, where one message is read
	ShortPromptBytes = 1000     // of its text, where many messages are read
	MaxPromptBlocks  = 100
)

// A Prompt describes a Content without its media, so that lists of messages stay
// small whatever was sent.
type Prompt struct {
	Text      string  `json:"text,omitempty"`      // the text, or those of the text blocks, joined by blank lines
	Truncated bool    `json:"truncated,omitempty"` // the bounds left something out
	User      string  `json:"user,omitempty"`      // who asked, in an Approval; a Message has its Origin
	Blocks    []Block `json:"blocks,omitempty"`    // empty for a content that is a text
}

// A Block describes a content block.
type Block struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"` // of the text or the decoded media; 0 where the block has an address only
}

// PromptOf describes a content, with at most MaxPromptBytes of text. It shares the
// memory of a text and copies nothing of media.
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
		says, _ = TruncateText(says, MaxPromptBytes+utf8.UTFMax) // what is cut here is cut below, too
		text.WriteString(says)
	}
	short, cut := TruncateText(text.String(), MaxPromptBytes)
	p.Text, p.Truncated = short, p.Truncated || cut
	return p
}

// Short returns the prompt with at most ShortPromptBytes of text. A shortened text is a
// copy, so that it does not keep the whole one in memory.
func (p Prompt) Short() Prompt {
	if text, cut := TruncateText(p.Text, ShortPromptBytes); cut {
		p.Text, p.Truncated = strings.Clone(text), true
	}
	return p
}

// ApprovalPrompt returns the prompt for an approval that belongs to the message: shortened,
// and with the user who sent it.
func ApprovalPrompt(m *Message) Prompt {
	p := m.Prompt.Short()
	p.User = m.Origin.User
	return p
}

// IsZero reports whether nothing is known of the content.
func (p Prompt) IsZero() bool { return p.Text == "" && len(p.Blocks) == 0 }

// TruncateText returns the beginning of s, at most limit bytes that end with a whole
// character, and whether that is less than s.
func TruncateText(s string, limit int) (start string, cut bool) {
	if len(s) <= limit {
		return s, false
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit], true
}

// describe returns what a block is, and its text if it is a text. Members that have
// another type than they should count as absent: adapters check what they accept.
func describe(raw []byte) (b Block, text string) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	var encoding string
	var data, padding int64
	eachMember(dec, func(name string) {
		switch name {
		case "type":
			b.Type = stringValue(dec)
		case "text":
			text = stringValue(dec)
		case "source":
			eachMember(dec, func(name string) {
				switch name {
				case "type":
					encoding = stringValue(dec)
				case "media_type":
					b.MediaType = stringValue(dec)
				case "data":
					data, padding = dataLength(dec)
				default:
					_ = dec.SkipValue() // an error ends the iteration too
				}
			})
		default:
			_ = dec.SkipValue() // likewise
		}
	})
	switch {
	case b.Type == "text":
		b.Bytes = int64(len(text))
		return b, text
	case encoding == "base64":
		b.Bytes = data/4*3 - padding
	default:
		b.Bytes = data
	}
	return b, ""
}

// eachMember reads a value and, if it is an object, has field read the value of each
// member. It stops at what is no JSON.
func eachMember(dec *jsontext.Decoder, field func(name string)) {
	if dec.PeekKind() != '{' {
		_ = dec.SkipValue() // an error ends the iteration of the object around it
		return
	}
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return
		}
		field(name.String())
	}
	_, _ = dec.ReadToken() // the closing brace, or the error that ended it
}

// stringValue reads a value and returns the empty string unless it is a string.
func stringValue(dec *jsontext.Decoder) string {
	if dec.PeekKind() != '"' {
		_ = dec.SkipValue() // an error ends the iteration of the object around it
		return ""
	}
	token, err := dec.ReadToken()
	if err != nil {
		return ""
	}
	return token.String()
}

// dataLength reads a string and returns how many bytes it has, and how many of them
// are the padding of base64. It copies the string only where that has escapes.
func dataLength(dec *jsontext.Decoder) (n, padding int64) {
	raw, err := dec.ReadValue()
	if err != nil || raw.Kind() != '"' {
		return 0, 0
	}
	data := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(data, '\\') >= 0 {
		if data, err = jsontext.AppendUnquote(nil, raw); err != nil {
			return 0, 0
		}
	}
	n = int64(len(data))
	return n, n - int64(len(bytes.TrimRight(data, "=")))
}
