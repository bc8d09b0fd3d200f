package markdown

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"
)

// texts returns the texts of messages.
func texts(messages []Document) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Text)
	}
	return out
}

// TestSplitBorders shows where a text is cut.
func TestSplitBorders(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		d     Document
		limit int
		want  []string
	}{
		{"it fits", Plain("0123456789"), 10, []string{"0123456789"}},
		{"blocks", Plain("one\n\ntwo\n\nthree"), 13, []string{"one\n\ntwo", "three"}},
		{"a block that fits exactly", Plain("one two\n\nthree"), 7, []string{"one two", "three"}},
		{"lines", Plain("one two\nthree four\nfive"), 20, []string{"one two\nthree four", "five"}},
		{"words", Plain("one two three four"), 12, []string{"one two", "three four"}},
		{"a line break before a space", Plain("one two\nthree four"), 12, []string{"one two", "three four"}},
		{"a long line, rather than a short message", Plain("a b\nccccc ddddd eeeee"), 14, []string{"a b\nccccc", "ddddd eeeee"}},
		{"anywhere", Plain("0123456789abc"), 5, []string{"01234", "56789", "abc"}},
		{"surrogate pairs", Plain("👍👍👍"), 3, []string{"👍", "👍", "👍"}},
		{"characters as they are seen", Plain("ae\u0301🇩🇪👨‍👩‍👧b"), 9, []string{"ae\u0301🇩🇪", "👨‍👩‍👧b"}},
		{"a character longer than a message", Plain("👨‍👩‍👧x"), 4, []string{"👨\u200d", "👩\u200d", "👧x"}},
		{"no space that is part of a character", Plain("ab cdef \u0301gh"), 9, []string{"ab", "cdef \u0301gh"}},
		{"white space at a cut", Plain("one   \n\n\n   two"), 8, []string{"one", "two"}},
		{"a message of nothing", Plain("a\n\n" + strings.Repeat("\u200b", 8) + "\n\nb"), 4, []string{"a", "b"}},
		{"code on lines", Render("```\none\n  two\n\n    three\n```"), 11, []string{"one\n  two", "    three"}},
		{"table on rows", Render("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"), 12, []string{"a | b\n--+--", "1 | 2\n3 | 4"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := texts(checkSplit(t, row.d, row.limit)); !slices.Equal(got, row.want) {
				t.Errorf("%q in messages of %d: %q, want %q", row.d.Text, row.limit, got, row.want)
			}
		})
	}
}

// TestSplitReopens shows that what is cut goes on in the next message as it was.
func TestSplitReopens(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 4)
	for _, row := range []struct {
		source string
		want   models.MessageEntity
	}{
		{"```go\n" + strings.Repeat("x := 1\n", 4) + "```", models.MessageEntity{Type: models.MessageEntityTypePre, Language: "go"}},
		{"**" + words + "end**", models.MessageEntity{Type: models.MessageEntityTypeBold}},
		{"||" + words + "end||", models.MessageEntity{Type: models.MessageEntityTypeSpoiler}},
		{"`" + words + "end`", models.MessageEntity{Type: models.MessageEntityTypeCode}},
		{"> " + words, models.MessageEntity{Type: models.MessageEntityTypeBlockquote}},
		{"[" + words + "](https://example.com)", models.MessageEntity{Type: models.MessageEntityTypeTextLink, URL: "https://example.com"}},
	} {
		messages := checkSplit(t, Render(row.source), 10)
		if len(messages) < 2 {
			t.Errorf("%q is %d messages", row.source, len(messages))
		}
		for _, m := range messages {
			want := row.want
			want.Length = Length(m.Text)
			if !slices.Equal(m.Entities, []models.MessageEntity{want}) {
				t.Errorf("%q: %s\nwant %+v", row.source, show(m), want)
			}
		}
	}
}

func TestSplitNested(t *testing.T) {
	t.Parallel()
	messages := checkSplit(t, Render("> **one *two [three four](https://example.com)*** `five`"), 9)
	if got, want := show(messages[1]), `three
0+5 blockquote "three"
0+5 bold "three"
0+5 italic "three"
0+5 text_link(https://example.com) "three"
`; got != want {
		t.Errorf("second message:\n%s\nwant:\n%s", got, want)
	}
}

// TestSplitEntities shows that no message has more entities than Telegram
// takes, by number or by size.
func TestSplitEntities(t *testing.T) {
	t.Parallel()
	many := Render(strings.Repeat("`a` ", 250))
	if got := len(checkSplit(t, many, MaxUnits)); got != 3 {
		t.Errorf("250 entities are %d messages, want 3", got)
	}
	long := Render(strings.Repeat("[a](https://example.com/"+strings.Repeat("x", 1900)+") ", 12))
	if got := len(checkSplit(t, long, MaxUnits)); got != 3 {
		t.Errorf("12 links of 1,900 bytes are %d messages, want 3", got)
	}
	if got := len(long.Entities); got != 12 {
		t.Errorf("%d links, want 12", got)
	}
}

// TestSplitLimits takes limits that make no sense.
func TestSplitLimits(t *testing.T) {
	t.Parallel()
	d := Plain(strings.Repeat("👍x", 3000))
	for _, limit := range []int{-1, 0, MaxUnits + 1, MaxUnits} {
		if got := texts(d.Split(limit)); len(got) != 3 || Length(got[0]) > MaxUnits {
			t.Errorf("limit %d: %d messages", limit, len(got))
		}
	}
	if got := texts(Plain("👍x").Split(1)); !slices.Equal(got, []string{"👍", "x"}) {
		t.Errorf("limit 1: %q", got)
	}
}

// TestSplitLongAnswer splits an answer that has everything at every limit.
func TestSplitLongAnswer(t *testing.T) {
	t.Parallel()
	d := Render(answer(4000))
	for limit := minLimit; limit < 600; limit += 7 {
		checkSplit(t, d, limit)
	}
}

// answer returns Markdown of at least so many bytes, as an agent writes it.
func answer(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "## Step %d: `core/lane_%d.go`\n\nThe lane **takes** what waits, see [the issue](https://example.com/issues/%d), and "+
			"*then* writes it with `Change.Lazy`. A *second* paragraph, with ümläuts and 👍🏽.\n\n", i, i, i)
		b.WriteString("- one `item` of a list\n- another, **bold**\n  - nested ~~gone~~\n\n1. first\n2. second\n\n")
		b.WriteString("```go\nfunc (l *lane) take() []Message {\n\tl.mu.Lock()\n\tdefer l.mu.Unlock()\n\treturn l.pending\n}\n```\n\n")
		b.WriteString("> A note that is quoted, with **bold** text.\n\n| before | after |\n|---:|---:|\n| 12 ms | 9 ms |\n| 日本 | 7 |\n\n")
	}
	return b.String()
}
