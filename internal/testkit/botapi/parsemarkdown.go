package botapi

import (
	"strings"
	"unicode/utf8"
)

// markdownReserved must be escaped wherever it means nothing:
// core.telegram.org/bots/api#markdownv2-style
const markdownReserved = "_*[]()~`>#+-=|{}.!"

// markdownTags are the entities that end as they begin, the longer ones first.
func markdownTags() [][2]string {
	return [][2]string{{"```", "pre"}, {"`", "code"}, {"__", "underline"}, {"_", "italic"}, {"*", "bold"}, {"~", "strikethrough"}, {"||", "spoiler"}}
}

// parseMarkdown knows as much of MarkdownV2 as its errors need; quotes end with
// their line.
func parseMarkdown(src string) (string, []Entity, error) {
	m := &marked{}
	for i := 0; i < len(src); {
		n, err := m.markdown(src, i)
		if err != nil {
			return "", nil, err
		}
		i += n
	}
	if m.innermost() == ">" {
		m.end("")
	}
	if len(m.open) > 0 {
		last := m.open[len(m.open)-1]
		return "", nil, say("Can't find end of %s entity at byte offset %d", entityWord(last.entity.Type), last.at)
	}
	return m.text.String(), m.entities, nil
}

// markdown takes what stands at i and returns how many bytes that was.
func (m *marked) markdown(src string, i int) (int, error) {
	rest := src[i:]
	if rest[0] == '\\' && len(rest) > 1 && rest[1] > 0 && rest[1] < utf8.RuneSelf {
		m.write(rest[1:2])
		return 2, nil
	}
	inCode := m.innermost() == "`" || m.innermost() == "```"
	for _, t := range markdownTags() {
		if !strings.HasPrefix(rest, t[0]) || inCode && m.innermost() != t[0] {
			continue
		}
		return m.toggle(t[0], t[1], rest, i), nil
	}
	switch {
	case inCode && rest[0] != '`':
	case rest[0] == '[' && m.innermost() != "[":
		m.begin("[", i, Entity{Type: "text_link"})
		return 1, nil
	case rest[0] == ']' && m.innermost() == "[":
		return m.link(rest, i)
	case rest[0] == '>' && (i == 0 || src[i-1] == '\n'):
		m.begin(">", i, Entity{Type: "blockquote"})
		return 1, nil
	case rest[0] == '\n' && m.innermost() == ">":
		m.end("")
	case strings.IndexByte(markdownReserved, rest[0]) >= 0:
		return 0, say("Character '%c' is reserved and must be escaped with the preceding '\\'", rest[0])
	}
	_, size := utf8.DecodeRuneInString(rest)
	m.write(rest[:size])
	return size, nil
}

// toggle begins or ends an entity. A fence may name a language.
func (m *marked) toggle(tag, kind, rest string, at int) int {
	if m.innermost() == tag {
		m.end("")
		return len(tag)
	}
	e := Entity{Type: kind}
	skip := len(tag)
	if kind == "pre" {
		if line, _, found := strings.Cut(rest[skip:], "\n"); found && !strings.ContainsAny(line, " `") {
			e.Language = line
			skip += len(line) + 1
		}
	}
	m.begin(tag, at, e)
	return skip
}

// link ends the text of a link and reads its address.
func (m *marked) link(rest string, at int) (int, error) {
	if !strings.HasPrefix(rest, "](") {
		m.end("")
		return 1, nil
	}
	end := strings.IndexByte(rest, ')')
	if end < 0 {
		return 0, say("Can't find end of a URL at byte offset %d", at+2)
	}
	m.end(strings.ReplaceAll(rest[2:end], `\`, ""))
	return end + 1, nil
}

// entityWord is how Telegram's errors name a type.
func entityWord(kind string) string {
	switch kind {
	case "text_link":
		return "TextUrl"
	case "pre":
		return "Pre"
	}
	return strings.ToUpper(kind[:1]) + kind[1:]
}
