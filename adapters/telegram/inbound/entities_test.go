package inbound

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"bareclaw/adapters/telegram/markdown"

	"github.com/go-telegram/bot/models"
)

// entity formats the first place of a part in a text.
func entity(t testing.TB, text, part string, kind models.MessageEntityType) models.MessageEntity {
	t.Helper()
	i := strings.Index(text, part)
	if i < 0 {
		t.Fatalf("%q is not in %q", part, text)
	}
	units := func(s string) int { return len(utf16.Encode([]rune(s))) }
	return models.MessageEntity{Type: kind, Offset: units(text[:i]), Length: units(part)}
}

// TestWrittenMarkdown holds what becomes of each format, and of several at once.
func TestWrittenMarkdown(t *testing.T) {
	t.Parallel()
	type part struct {
		text string
		kind models.MessageEntityType
	}
	for _, c := range []struct {
		text  string
		parts []part
		want  string
	}{
		{"a*b_c `d` [e](f) > g", nil, "a*b_c `d` [e](f) > g"},
		{"see @anna #x /new https://x.org", []part{{"@anna", "mention"}, {"#x", "hashtag"}, {"/new", "bot_command"}, {"https://x.org", "url"}}, "see @anna #x /new https://x.org"},
		{"a bold word", []part{{"bold", "bold"}}, "a **bold** word"},
		{"\U0001F600 a bold word \U0001F600", []part{{"bold", "bold"}}, "\U0001F600 a **bold** word \U0001F600"},
		{"a \U0001F600\U0001F600 b", []part{{"\U0001F600\U0001F600", "bold"}}, "a **\U0001F600\U0001F600** b"},
		{"a bold word", []part{{"bold ", "bold"}}, "a **bold** word"},
		{"all of it", []part{{"all of it", "bold"}, {"of", "italic"}}, "**all *of* it**"},
		{"all of it", []part{{"of", "italic"}, {"all of it", "bold"}}, "**all *of* it**"},
		{"over two\n\nparagraphs", []part{{"over two\n\nparagraphs", "italic"}}, "*over two*\n\n*paragraphs*"},
		{"old new secret under", []part{{"old", "strikethrough"}, {"secret", "spoiler"}, {"under", "underline"}}, "~~old~~ new ||secret|| <u>under</u>"},
		{"2*3 snake_case *", []part{{"2*3 snake_case", "bold"}}, "**2\\*3 snake\\_case** *"},
		{"run x := `y` now", []part{{"x := `y`", "code"}}, "run `` x := `y` `` now"},
		{"run a*b", []part{{"a*b", "code"}}, "run `a*b`"},
		{"so:\nfunc f() {}\nok", []part{{"func f() {}", "pre"}}, "so:\n```\nfunc f() {}\n```\nok"},
		{"so: x ok", []part{{"x", "pre"}}, "so: \n```\nx\n```\n ok"},
		{"a ``` b", []part{{"a ``` b", "pre"}}, "````\na ``` b\n````\n"},
		{"they said\nso\nI do not", []part{{"they said\nso", "blockquote"}}, "> they said\n> so\n\nI do not"},
		{"they said\nI do not", []part{{"they said\n", "expandable_blockquote"}}, "> they said\n\nI do not"},
		{"well\nx := 1\nno", []part{{"x := 1", "blockquote"}, {"x := 1", "pre"}}, "well\n> ```\n> x := 1\n> ```\n\nno"},
		{"an emoji", []part{{"emoji", "custom_emoji"}}, "an emoji"},
	} {
		var es []models.MessageEntity
		for _, p := range c.parts {
			es = append(es, entity(t, c.text, p.text, p.kind))
		}
		if got := entitiesMarkdown(c.text, es); got != c.want {
			t.Errorf("%q with %v is\n%q, want\n%q", c.text, c.parts, got, c.want)
		}
	}
}

func TestWrittenLinksAndLanguages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    models.MessageEntity
		want string
	}{
		{models.MessageEntity{Type: "text_link", URL: "https://x.org/a?b=c"}, "[a \\[b\\]](https://x.org/a?b=c)"},
		{models.MessageEntity{Type: "text_link", URL: "https://x.org/a b)(c\n\u2028<>"}, "[a \\[b\\]](https://x.org/a%20b%29%28c%0A%E2%80%A8%3C%3E)"},
		{models.MessageEntity{Type: "pre", Language: "go"}, "```go\na [b]\n```\n"},
		{models.MessageEntity{Type: "pre", Language: "c++"}, "```c++\na [b]\n```\n"},
		{models.MessageEntity{Type: "pre", Language: "go\n```\nx"}, "```\na [b]\n```\n"},
	} {
		c.e.Length = 5
		if got := entitiesMarkdown("a [b]", []models.MessageEntity{c.e}); got != c.want {
			t.Errorf("%+v gives %q, want %q", c.e, got, c.want)
		}
	}
}

// FuzzWrittenMarkdown holds, for any text and any two formats, that nothing that was
// written is lost or comes in another order, and that a text without formats stays as
// it is. Where all of a text of one line has one format the renderer of answers reads
// that from what was made of it.
func FuzzWrittenMarkdown(f *testing.F) {
	kinds := []models.MessageEntityType{"bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "text_link", "blockquote", "mention", "date_time"}
	f.Add("a *bold* \U0001F600 text", 0, 2, 4, 1, 3, 3, "go")
	f.Add("x\n\n`y`\n", 5, 0, 9, 8, 1, 2, "https://x.org/(a)")
	f.Add("> a\n b", 6, -1, 90, 8, 0, 1<<62, "")
	f.Fuzz(func(t *testing.T, text string, kind1, at1, n1, kind2, at2, n2 int, more string) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			return // no JSON has it
		}
		pick := func(k int) models.MessageEntityType { return kinds[uint(k)%uint(len(kinds))] }
		es := []models.MessageEntity{
			{Type: pick(kind1), Offset: at1, Length: n1, Language: more, URL: more},
			{Type: pick(kind2), Offset: at2, Length: n2, Language: more, URL: more},
		}
		if got := entitiesMarkdown(text, nil); got != text {
			t.Fatalf("%q without formats is %q", text, got)
		}
		got := entitiesMarkdown(text, es)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		rest := got
		for _, r := range strings.TrimSuffix(text, "\n") {
			i := strings.IndexRune(rest, r)
			if i < 0 {
				t.Fatalf("of %q with %v is %q: %q is lost", text, es, got, r)
			}
			rest = rest[i+utf8.RuneLen(r):]
		}
		plain := "a" + strings.Join(strings.Fields(text), " ") + "z" // Markdown is vague about marks beside punctuation
		if strings.Trim(plain, "abcdefghijklmnopqrstuvwxyz 0123456789*_~`[]<|") != "" {
			return
		}
		for kind, want := range map[models.MessageEntityType]bool{"bold": true, "italic": true, "strikethrough": true} {
			made := entitiesMarkdown(plain, []models.MessageEntity{{Type: kind, Length: len(plain)}})
			if doc := markdown.Render(made); doc.Text != plain || len(doc.Entities) != 1 || (doc.Entities[0].Type == kind) != want {
				t.Errorf("%s of %q is %q, which is read as %q with %v", kind, plain, made, doc.Text, doc.Entities)
			}
		}
	})
}
