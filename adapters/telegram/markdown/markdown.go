// Package markdown converts Markdown to Telegram messages with formatting that Telegram
// never refuses: plain text, plus entities that mark bold text, links and code by
// offset. Since the text contains no markup, no character can be mistaken for markup,
// and a text can be split anywhere.
//
// A [Document] comes from [Render] (Markdown, such as an answer), [Plain] (literal
// text), [Diff] and [Write] (file changes by a tool) or a [Builder] (the gateway's own
// texts). [Document.Split] splits a Document into messages.
//
// The dialect is CommonMark with tables, strikethrough, task lists, bare links and
// ||spoilers||, minus markup that people and models write unintentionally: 2*3*4,
// snake_case_name, __init__ and a lone ~ stay literal. HTML is shown as source. Telegram
// has no headings, lists, rules or tables: headings become bold, underlined, or italic
// by level, lists get bullets and indentation, tables become aligned code.
//
// The rules for entities come from core.telegram.org/bots/api#messageentity and from the
// library beneath the Bot API server (tdlib/td, td/telegram/MessageEntity.cpp). The
// library defines refused and dropped entities and the removed or replaced characters.
package markdown

import (
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// A Document is a text with formatting. Documents returned by this package are valid
// except for the length: entities are sorted, lie within the text, begin and end at
// visible characters (except for the indentation of code), and nest as Telegram
// requires. The zero Document is empty.
type Document struct {
	Text     string
	Entities []models.MessageEntity // offsets and lengths in UTF-16 units
}

// Plain returns text as an unformatted document. Characters that Telegram would refuse,
// remove or replace are treated as in [Builder.Text].
func Plain(text string) Document {
	var b Builder
	return b.Text(text).Document()
}

// Length returns the length of text in UTF-16 units, the unit of all Telegram limits.
func Length(text string) int {
	units := 0
	for _, c := range text {
		units += unitsOf(c)
	}
	return units
}

func unitsOf(c rune) int {
	if c > 0xFFFF {
		return 2
	}
	return 1
}

// advance returns the byte offset that lies the given number of UTF-16 units after
// start. advance stops before a surrogate pair that would exceed units, and at the end
// of the text.
func advance(text string, start, units int) int {
	for at := start; at < len(text); {
		c, size := utf8.DecodeRuneInString(text[at:])
		if units -= unitsOf(c); units < 0 {
			return at
		}
		at += size
	}
	return len(text)
}
