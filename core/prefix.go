package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// originPrefix returns the line, newline included, that tells the agent a message's origin:
// [channel: C, adapter: A, user: U, chat: T, topic: N].
func originPrefix(m *Message) string {
	var sb strings.Builder
	sb.WriteString(prefixBegin + " " + neutral(string(m.Channel)) + ", adapter: " + neutral(m.Adapter))
	for _, f := range [...]struct{ name, value string }{
		{"user", m.Origin.User}, {"chat", m.Origin.Chat}, {"topic", m.Origin.Topic},
	} {
		if f.value != "" {
			sb.WriteString(", " + f.name + ": " + neutral(f.value))
		}
	}
	sb.WriteString("]\n")
	return sb.String()
}

const prefixBegin = "[channel:"

// neutral replaces, in an outside name, all characters that could end the prefix's bracket or
// line, or begin another field, a mention or a tag, and those that cannot be seen.
func neutral(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			return '('
		case r == ']':
			return ')'
		case r == ',':
			return ';'
		case isUnseen(r) && !isJoiner(r):
			return ' '
		}
		return inert(r)
	}, name)
}

// inert replaces the characters that could begin a mention or a tag, which mean something to
// the agent.
func inert(r rune) rune {
	switch r {
	case '@':
		return '＠'
	case '<':
		return '‹'
	case '>':
		return '›'
	}
	return r
}

// isUnseen reports whether a character shows nothing, other than the space.
func isUnseen(r rune) bool {
	return r != ' ' && (r == '\u2800' || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

// isJoiner reports whether names need the character: those with emoji, and those in scripts
// whose letters join.
func isJoiner(r rune) bool { return r == '\u200C' || r == '\u200D' || r == '\uFE0F' }

// ownWords returns the content of a message. No line in it begins like a prefix, so that
// nobody can speak for somebody else. A retry has lines that [RetryContent] has written.
func ownWords(m *Message) (Content, error) {
	c := m.Content
	if m.RetryOf != "" {
		return c, nil
	}
	c.Text = unforged(c.Text)
	c.Blocks = slices.Clone(c.Blocks)
	for i, b := range c.Blocks {
		_, text := describe(b)
		if now := unforged(text); now != text {
			var err error
			if c.Blocks[i], err = withText(b, now); err != nil {
				return Content{}, err
			}
		}
	}
	return c, nil
}

// withText returns a text block with another text.
func withText(block json.RawMessage, text string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(block, &members); err != nil {
		return nil, fmt.Errorf("read a text block: %w", err)
	}
	value, err := encodeJSON(text)
	if err != nil {
		return nil, err
	}
	members["text"] = value
	return encodeJSON(members)
}

// unforged returns a text with a round bracket where a line begins like a prefix, also after
// blanks and the > of a quotation.
func unforged(text string) string {
	var b strings.Builder
	rest := text
	for {
		i := strings.IndexByte(rest, '[')
		if i < 0 {
			return b.String() + rest
		}
		b.WriteString(rest[:i])
		bracket := "["
		if beginsLine(text[:len(text)-len(rest)+i]) && spells(rest[i:], prefixBegin) {
			bracket = "("
		}
		b.WriteString(bracket)
		rest = rest[i+1:]
	}
}

// beginsLine reports whether nothing that can be seen is on the last line of a text.
func beginsLine(before string) bool {
	before = strings.TrimRightFunc(before, func(r rune) bool { return r == '>' || isBlank(r) })
	last, size := utf8.DecodeLastRuneInString(before)
	return size == 0 || endsLine(last)
}

// spells reports whether a text begins with the word, in any case, and with blanks in between
// and before.
func spells(text, word string) bool {
	for _, want := range word {
		text = strings.TrimLeftFunc(text, isBlank)
		r, size := utf8.DecodeRuneInString(text)
		if unicode.ToLower(r) != want {
			return false
		}
		text = text[size:]
	}
	return true
}

func isBlank(r rune) bool { return (r == ' ' || isUnseen(r)) && !endsLine(r) }

func endsLine(r rune) bool {
	return '\n' <= r && r <= '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}
