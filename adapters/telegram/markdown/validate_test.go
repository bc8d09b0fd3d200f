package markdown

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// validMessage says what Telegram would refuse, drop or change in a message, by
// its own rules (td/telegram/MessageEntity.cpp).
func validMessage(m Document, limit int) error {
	if n := len(utf16.Encode([]rune(m.Text))); n > limit {
		return fmt.Errorf("%d UTF-16 units, more than %d", n, limit)
	}
	if isBlank(m.Text) {
		return fmt.Errorf("nothing is seen of %q", m.Text)
	}
	if len(m.Entities) > MaxEntities {
		return fmt.Errorf("%d entities", len(m.Entities))
	}
	size := 0
	for _, e := range m.Entities {
		size += entityBytes(span{entity: e})
	}
	if size > maxEntityBytes {
		return fmt.Errorf("entities of %d bytes", size)
	}
	if strings.TrimRight(m.Text, " \n") != m.Text {
		return fmt.Errorf("Telegram would trim the end of %q", m.Text)
	}
	lead := len(m.Text) - len(strings.TrimLeft(m.Text, " \n"))
	if lead > 0 && (len(m.Entities) == 0 || m.Entities[0].Offset != 0) {
		return fmt.Errorf("Telegram would trim the beginning of %q", m.Text)
	}
	return validDocument(m)
}

// validDocument is validMessage for a document of any length.
func validDocument(d Document) error {
	if err := validText(d.Text); err != nil {
		return err
	}
	units := utf16.Encode([]rune(d.Text))
	var open []models.MessageEntity
	for i, e := range d.Entities {
		if err := validEntity(units, e); err != nil {
			return fmt.Errorf("entity %d %+v: %w", i, e, err)
		}
		if i > 0 {
			last := d.Entities[i-1]
			if e.Offset < last.Offset || e.Offset == last.Offset && e.Length > last.Length {
				return fmt.Errorf("entities %d and %d are not sorted", i-1, i)
			}
		}
		open = slices.DeleteFunc(open, func(o models.MessageEntity) bool { return o.Offset+o.Length <= e.Offset })
		for _, o := range open {
			if err := validNesting(o, e); err != nil {
				return fmt.Errorf("entity %d %+v in %+v: %w", i, e, o, err)
			}
		}
		open = append(open, e)
	}
	return nil
}

func validText(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("invalid UTF-8 in %q", text)
	}
	for i, c := range text {
		if c < ' ' && c != '\n' || c >= 0x7F && c <= 0x9F || c >= 0x2028 && c <= 0x202E || c >= 0x2066 && c <= 0x2069 ||
			c == 0x30A || c == 0x333 || c == 0x33F {
			return fmt.Errorf("character %U at %d of %q", c, i, text)
		}
	}
	return nil
}

func validEntity(units []uint16, e models.MessageEntity) error {
	if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > len(units) {
		return fmt.Errorf("not within the %d units of the text", len(units))
	}
	for _, at := range []int{e.Offset, e.Offset + e.Length} {
		if at > 0 && at < len(units) && units[at] >= 0xDC00 && units[at] < 0xE000 {
			return fmt.Errorf("%d is within a surrogate pair", at)
		}
	}
	part := string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
	if isBlank(part) {
		return fmt.Errorf("nothing is seen of %q", part)
	}
	first := part[0]
	holdsPre := e.Type == models.MessageEntityTypePre || isQuote(e)
	if strings.TrimRight(part, " \n") != part || first == '\n' || first == ' ' && !holdsPre {
		return fmt.Errorf("white space at an end of %q", part)
	}
	switch e.Type {
	case models.MessageEntityTypeTextLink:
		if again, ok := linkTarget(e.URL); !ok || again != e.URL {
			return fmt.Errorf("address %q", e.URL)
		}
		return nil
	case models.MessageEntityTypePre:
		if LanguageName(e.Language) != e.Language {
			return fmt.Errorf("language %q", e.Language)
		}
		return nil
	case models.MessageEntityTypeCode, models.MessageEntityTypeBold, models.MessageEntityTypeItalic,
		models.MessageEntityTypeUnderline, models.MessageEntityTypeStrikethrough, models.MessageEntityTypeSpoiler,
		models.MessageEntityTypeBlockquote, models.MessageEntityTypeExpandableBlockquote:
		return nil
	}
	return fmt.Errorf("type %q", e.Type)
}

// validNesting checks an entity that begins within another.
func validNesting(outer, e models.MessageEntity) error {
	isCode := func(e models.MessageEntity) bool {
		return e.Type == models.MessageEntityTypePre || e.Type == models.MessageEntityTypeCode
	}
	switch {
	case e.Offset+e.Length > outer.Offset+outer.Length:
		return errors.New("overlaps in part")
	case isCode(outer):
		return errors.New("something in code")
	case isCode(e) && !isQuote(outer):
		return errors.New("code in something that is no quotation")
	case isQuote(e) && isQuote(outer):
		return errors.New("a quotation in another")
	case e.Type == outer.Type:
		return errors.New("twice the same")
	case outer.Type == models.MessageEntityTypeTextLink && isQuote(e):
		return errors.New("a quotation in a link")
	}
	return nil
}

func isQuote(e models.MessageEntity) bool {
	return e.Type == models.MessageEntityTypeBlockquote || e.Type == models.MessageEntityTypeExpandableBlockquote
}

// checkSplit splits a document and checks every message, and that nothing is lost.
func checkSplit(t *testing.T, d Document, limit int) []Document {
	t.Helper()
	if err := validDocument(d); err != nil {
		t.Fatalf("%v\ndocument: %s", err, show(d))
	}
	messages := d.Split(limit)
	for i, m := range messages {
		if err := validMessage(m, max(limit, minLimit)); err != nil {
			t.Fatalf("message %d of %d: %v\nmessage: %s\ndocument: %s", i, len(messages), err, show(m), show(d))
		}
	}
	checkNothingLost(t, d, messages)
	return messages
}

// checkNothingLost checks that the messages' texts are the document's but for
// spaces and line breaks before, between and after them, and invisible messages.
func checkNothingLost(t *testing.T, d Document, messages []Document) {
	t.Helper()
	rest := d.Text
	for i, m := range messages {
		at := strings.Index(rest, m.Text)
		for at >= 0 && !isBlank(rest[:at]) {
			at = -1
		}
		if at < 0 {
			t.Fatalf("message %d %q is not what comes next: %q", i, m.Text, rest)
		}
		rest = rest[at+len(m.Text):]
	}
	if !isBlank(rest) {
		t.Fatalf("lost: %q", rest)
	}
}

// show prints a document so that it can be read: the text, then each entity with
// its text.
func show(d Document) string {
	units := utf16.Encode([]rune(d.Text))
	var b strings.Builder
	b.WriteString(d.Text)
	b.WriteString("\n")
	for _, e := range d.Entities {
		from := min(max(e.Offset, 0), len(units))
		to := min(max(e.Offset+e.Length, from), len(units))
		fmt.Fprintf(&b, "%d+%d %s", e.Offset, e.Length, e.Type)
		if more := e.URL + e.Language; more != "" {
			fmt.Fprintf(&b, "(%s)", more)
		}
		fmt.Fprintf(&b, " %q\n", string(utf16.Decode(units[from:to])))
	}
	return b.String()
}
