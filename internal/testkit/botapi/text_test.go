package botapi_test

import (
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/botapi"
)

func TestTextLimits(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	for _, tc := range []struct{ text, want string }{
		{"", "Bad Request: message text is empty"},
		{" \n ", "Bad Request: text must be non-empty"},
		{repeat("x", 4097), "Bad Request: message is too long"},
		{repeat("😀", 2049), "Bad Request: message is too long"}, // two units each
		{repeat("x", 40000), "Bad Request: text is too long"},
	} {
		refused(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": tc.text}, 400, tc.want)
	}
	for _, text := range []string{repeat("x", 4096), repeat("😀", 2048), "  " + repeat("é", 4096) + "\n"} {
		say(t, s, chat.ID(), text)
	}
	if r := upload(t, s, "sendMessage", map[string]string{"chat_id": "7", "text": "a\xffb"}, "", "", nil); r.Description != "Bad Request: strings must be encoded in UTF-8" {
		t.Errorf("bad UTF-8: %+v", r)
	}
	var m sent
	must(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "\n a\tb\r\n"}, &m)
	if m.Text != "a b" {
		t.Errorf("cleaned to %q", m.Text)
	}
}

func entity(kind string, offset, length int) fields {
	return fields{"type": kind, "offset": offset, "length": length}
}

func TestEntitiesRefused(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	link := entity("text_link", 0, 1)
	link["url"] = "http://localhost:3000/x"
	for _, tc := range []struct {
		entity fields
		want   string
	}{
		{entity("bold", 9, 1), "entity begins after the end of the text at UTF-16 offset 9"},
		{entity("bold", 0, 9), "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 9"},
		{entity("bold", 2, 2), "entity begins in a middle of a UTF-16 symbol at byte offset 1"},
		{entity("bold", 0, 2), "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 1"},
		{entity("bold", -1, 2), "receive an entity with incorrect offset -1"},
		{entity("bold", 0, -2), "receive an entity with incorrect length -2"},
		{entity("loud", 0, 1), "can't parse MessageEntity: Unsupported type specified"},
		{fields{"type": "bold", "offset": 0}, `can't parse MessageEntity: Can't find field "length"`},
		{link, "entity URL 'http://localhost:3000/x' is invalid: Wrong HTTP URL"},
	} {
		refused(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "a😀bc", "entities": []fields{tc.entity}}, 400, "Bad Request: "+tc.want)
	}
	var links []fields
	for i := range 10 {
		links = append(links, fields{"type": "text_link", "offset": i, "length": 1, "url": "https://example.org/" + repeat("x", 1000)})
	}
	refused(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "0123456789", "entities": links}, 400, "Bad Request: ENTITIES_TOO_LONG")
	if got := len(chat.Messages()); got != 0 {
		t.Errorf("%d messages", got)
	}
}

func TestEntitiesDropped(t *testing.T) {
	t.Parallel()
	const text = "abc def ghi"
	for name, tc := range map[string]struct {
		entities []fields
		kept     []string
		why      string
	}{
		"empty":            {[]fields{entity("bold", 1, 0)}, nil, "it is empty"},
		"white space":      {[]fields{entity("bold", 3, 1)}, nil, "only white space"},
		"overlap":          {[]fields{entity("bold", 0, 5), entity("italic", 4, 5)}, []string{"bold"}, "they overlap"},
		"bold in code":     {[]fields{entity("code", 0, 7), entity("bold", 1, 2)}, []string{"code"}, "no other formatting"},
		"code in bold":     {[]fields{entity("bold", 0, 7), entity("code", 0, 7)}, []string{"bold"}, "nothing but a quote"},
		"quote in quote":   {[]fields{entity("blockquote", 0, 7), entity("expandable_blockquote", 0, 3)}, []string{"blockquote"}, "a quote stands in a quote"},
		"found by itself":  {[]fields{entity("url", 0, 3)}, nil, "by itself"},
		"bold and italic":  {[]fields{entity("bold", 0, 11), entity("italic", 4, 3)}, []string{"bold", "italic"}, ""},
		"same range":       {[]fields{entity("bold", 0, 3), entity("italic", 0, 3)}, []string{"bold", "italic"}, ""},
		"code in a quote":  {[]fields{entity("code", 0, 3), entity("blockquote", 0, 3)}, []string{"blockquote", "code"}, ""},
		"pre in expanding": {[]fields{entity("expandable_blockquote", 0, 7), entity("pre", 4, 3)}, []string{"expandable_blockquote", "pre"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, chat := world(t, botapi.Lenient())
			var m sent
			must(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": text, "entities": tc.entities}, &m)
			var kept []string
			for _, e := range m.Entities {
				kept = append(kept, e.Type)
			}
			broken := s.Violations()
			if !slices.Equal(kept, tc.kept) || (len(broken) > 0) != (tc.why != "") || !strings.Contains(strings.Join(broken, ""), tc.why) {
				t.Errorf("kept %q, want %q; violations %q, want %q", kept, tc.kept, broken, tc.why)
			}
		})
	}
}

func TestEntitiesAfterTheHundredth(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t, botapi.Lenient())
	var all []fields
	for i := range 101 {
		all = append(all, entity("bold", 2*i, 1))
	}
	var m sent
	must(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": repeat("x ", 101), "entities": all}, &m)
	if len(m.Entities) != 100 || len(s.Violations()) != 1 {
		t.Errorf("%d entities, violations %q", len(m.Entities), s.Violations())
	}
}

func TestEntitiesMoveWithTheText(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	var m sent
	must(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "\n\r😀 bold \n", "entities": []fields{entity("bold", 5, 6)}}, &m)
	if m.Text != "😀 bold" || len(m.Entities) != 1 || m.Entities[0].Offset != 3 || m.Entities[0].Length != 4 {
		t.Errorf("%q %+v", m.Text, m.Entities)
	}
}

func TestParseModes(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t, botapi.AllowParseMode())
	type want struct{ text, kinds, problem string }
	for _, tc := range []struct {
		mode, src string
		want
	}{
		{"HTML", `<b>a <i>b</i></b> &lt;c&gt; <a href="https://example.org">d</a>`, want{"a b <c> d", "bold italic text_link", ""}},
		{"HTML", "<pre><code>x</code></pre> & <blockquote expandable>q</blockquote>", want{"x & q", "pre expandable_blockquote", ""}},
		{"HTML", "<b>a", want{problem: `Can't find end tag corresponding to start tag "b"`}},
		{"HTML", "a</b>", want{problem: "Unexpected end tag at byte offset 1"}},
		{"HTML", "<b>a</i>", want{problem: `Unmatched end tag at byte offset 4, expected "</b>", found "</i>"`}},
		{"HTML", "1<2 a", want{problem: "Unclosed start tag at byte offset 1"}},
		{"HTML", "x <blink>y</blink>", want{problem: `Unsupported start tag "blink" at byte offset 2`}},
		{"MarkdownV2", `*b* _i_ __u__ ~s~ ||p|| [l](https://example.org) \.`, want{"b i u s p l .", "bold italic underline strikethrough spoiler text_link", ""}},
		{"MarkdownV2", "```go\nx := 1\n```", want{"x := 1", "pre", ""}},
		{"MarkdownV2", "a.", want{problem: `Character '.' is reserved and must be escaped with the preceding '\'`}},
		{"MarkdownV2", "a *b", want{problem: "Can't find end of Bold entity at byte offset 2"}},
		{"MarkdownV2", "[a](b", want{problem: "Can't find end of a URL at byte offset 4"}},
	} {
		body := fields{"chat_id": chat.ID(), "text": tc.src, "parse_mode": tc.mode}
		if tc.problem != "" {
			refused(t, s, "sendMessage", body, 400, "Bad Request: can't parse entities: "+tc.problem)
			continue
		}
		var m sent
		r := call(t, s, "sendMessage", body)
		if !r.OK {
			t.Errorf("%s: %s", tc.src, r.Description)
			continue
		}
		decode(t, r.Result, &m)
		var kinds []string
		for _, e := range m.Entities {
			kinds = append(kinds, e.Type)
		}
		if m.Text != tc.text || strings.Join(kinds, " ") != tc.kinds {
			t.Errorf("%s: %q %q, want %q %q", tc.src, m.Text, kinds, tc.text, tc.kinds)
		}
	}
	refused(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "a", "parse_mode": "Word"}, 400, "Bad Request: unsupported parse_mode")
}
