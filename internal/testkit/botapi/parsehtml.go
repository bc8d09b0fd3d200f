package botapi

import (
	"html"
	"regexp"
	"strings"
)

// htmlTags maps the tags there are to entities: core.telegram.org/bots/api#html-style
func htmlTags() map[string]string {
	return map[string]string{
		"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
		"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "span": "spoiler",
		"a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote", "tg-emoji": "custom_emoji", "tg-time": "date_time",
	}
}

var (
	attribute  = regexp.MustCompile(`([a-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	htmlEntity = regexp.MustCompile(`^&(lt|gt|amp|quot|#[0-9]+|#x[0-9a-fA-F]+);`)
)

// parseHTML knows as much of Telegram's HTML as its errors need.
func parseHTML(src string) (string, []Entity, error) {
	m := &marked{}
	for i := 0; i < len(src); {
		switch {
		case src[i] == '&':
			ref := htmlEntity.FindString(src[i:])
			if ref == "" {
				ref = "&"
			}
			m.write(html.UnescapeString(ref))
			i += len(ref)
		case src[i] != '<':
			next := strings.IndexAny(src[i+1:], "<&")
			if next < 0 {
				next = len(src) - i - 1
			}
			m.write(src[i : i+1+next])
			i += 1 + next
		default:
			n := strings.IndexByte(src[i:], '>')
			if n < 0 {
				return "", nil, say("Unclosed start tag at byte offset %d", i)
			}
			if err := m.tag(src[i+1:i+n], i); err != nil {
				return "", nil, err
			}
			i += n + 1
		}
	}
	if len(m.open) > 0 {
		return "", nil, say("Can't find end tag corresponding to start tag %q", m.innermost())
	}
	return m.text.String(), m.entities, nil
}

// tag takes what stands between < and >, which begins at the byte offset.
func (m *marked) tag(tag string, at int) error {
	if name, closing := strings.CutPrefix(tag, "/"); closing {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case len(m.open) == 0:
			return say("Unexpected end tag at byte offset %d", at)
		case name != "" && name != m.innermost():
			return say("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", at, m.innermost(), name)
		}
		m.end("")
		return nil
	}
	name, rest, _ := strings.Cut(strings.ToLower(tag), " ")
	kind, known := htmlTags()[name]
	if !known {
		return say("Unsupported start tag %q at byte offset %d", name, at)
	}
	e := Entity{Type: kind}
	for _, a := range attribute.FindAllStringSubmatch(tag, -1) {
		value := html.UnescapeString(a[2] + a[3] + a[4])
		switch a[1] {
		case "href":
			e.URL = value
		case "emoji-id":
			e.CustomEmojiID = value
		case "class":
			e.Language = strings.TrimPrefix(value, "language-")
		}
	}
	if kind == "blockquote" && strings.Contains(rest, "expandable") {
		e.Type = "expandable_blockquote"
	}
	if name == "span" && e.Language != "tg-spoiler" {
		return say("Tag \"span\" must have class \"tg-spoiler\" at byte offset %d", at)
	}
	if kind != "pre" && kind != "code" {
		e.Language = ""
	}
	m.begin(name, at, e)
	return nil
}
