// Package markdown turns Markdown into Telegram messages whose formatting
// cannot be refused: a text, and entities that say by offsets what is bold, a
// link or code. Nothing in the text is markup any more, so nothing in it can be
// mistaken for markup, and a text can be cut anywhere.
//
// A [Document] comes from [Render] (Markdown, such as an answer), [Plain] (a text
// as it is), [Diff] and [Write] (what a tool changes) or a [Builder] (everything
// the gateway itself says). [Document.Split] cuts it into messages.
//
// What Markdown means here is CommonMark with tables, strikethrough, task lists,
// bare links and ||spoilers||, but for what people and models write without
// meaning it: 2*3*4, snake_case_name, __init__ and a lone ~ stay as they are. HTML
// is shown as it was written. Telegram has no headings, lists, rules or tables:
// headings are bold, underlined, or italic by level, lists have bullets and are
// indented, tables are aligned as code.
//
// The rules of entities are those of core.telegram.org/bots/api#messageentity
// and of Telegram's own library (tdlib/td, td/telegram/MessageEntity.cpp), which
// the Bot API server is built on: it says what is refused, what is dropped and
// which characters are removed or replaced.
package markdown

import (
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// A Document is a text with its formatting. Those that this package returns are
// valid except for their length: entities are sorted, lie within the text, begin
// and end at characters that are seen (but for the indentation of code), and nest
// as Telegram wants it. The zero Document is empty.
type Document struct {
	Text     string
	Entities []models.MessageEntity // offsets and lengths in UTF-16 units
}

// Plain returns the text as it is, without formatting. Characters that Telegram
// would refuse, remove or replace are dealt with as [Builder.Text] says.
func Plain(text string) Document {
	var b Builder
	return b.Text(text).Document()
}

// Length returns the length of a text in UTF-16 units, in which Telegram counts.
func Length(text string) int {
	units := 0
	for _, c := range text {
		units += unitsOf(c)
	}
	return units
}

// unitsOf returns the length of a character in UTF-16 units.
func unitsOf(c rune) int {
	if c > 0xFFFF {
		return 2
	}
	return 1
}

// advance returns the byte offset that is the given number of UTF-16 units
// behind start, or less by one where a surrogate pair is in the way, and never
// beyond the text.
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
