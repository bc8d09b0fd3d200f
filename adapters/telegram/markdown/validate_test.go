package markdown

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"bareclaw/internal/testkit/botapi/richtext"

	"github.com/go-telegram/bot/models"
)

// validMessage says what Telegram would refuse, drop or change in a message.
func validMessage(m Document, limit int) error {
	size := 0
	for _, e := range m.Entities {
		size += entityBytes(span{entity: e})
	}
	switch {
	case Length(m.Text) > limit:
		return fmt.Errorf("more than %d UTF-16 units", limit)
	case isBlank(m.Text):
		return fmt.Errorf("nothing is seen of %q", m.Text)
	case len(m.Entities) > MaxEntities || size > maxEntityBytes:
		return fmt.Errorf("%d entities of %d bytes", len(m.Entities), size)
	}
	entities, err := json.Marshal(m.Entities)
	if err != nil {
		return err
	}
	shown, kept, dropped, err := richtext.Settle(m.Text, string(entities))
	if err != nil || len(dropped) > 0 {
		return fmt.Errorf("refused: %w; dropped: %q", err, dropped)
	}
	if shown != m.Text || !slices.EqualFunc(kept, m.Entities, func(a richtext.Entity, b models.MessageEntity) bool {
		return models.MessageEntity{Type: models.MessageEntityType(a.Type), Offset: a.Offset, Length: a.Length, URL: a.URL, Language: a.Language} == b
	}) {
		return fmt.Errorf("Telegram would show %q with %+v", shown, kept)
	}
	return nil
}

// validDocument says what of a document of any length would make a message invalid.
func validDocument(d Document) error {
	if err := validText(d.Text); err != nil {
		return err
	}
	units := utf16.Encode([]rune(d.Text))
	var open []models.MessageEntity
	for i, e := range d.Entities {
		end := e.Offset + e.Length
		if e.Offset < 0 || e.Length <= 0 || end > len(units) || isBlank(string(utf16.Decode(units[e.Offset:end]))) {
			return fmt.Errorf("entity %d %+v shows nothing", i, e)
		}
		open = slices.DeleteFunc(open, func(o models.MessageEntity) bool { return o.Offset+o.Length <= e.Offset })
		if slices.ContainsFunc(open, func(o models.MessageEntity) bool { return o.Type == e.Type || o.Offset+o.Length < end }) {
			return fmt.Errorf("entity %d %+v is twice, or overlaps in part", i, e)
		}
		open = append(open, e)
	}
	return nil
}

func validText(text string) error {
	for i, c := range text {
		if c == replacement && !strings.HasPrefix(text[i:], string(replacement)) || harmful(c) || c == '\t' || strings.ContainsRune("\u030A\u0333\u033F", c) {
			return fmt.Errorf("character %U at %d of %q", c, i, text)
		}
	}
	return nil
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
