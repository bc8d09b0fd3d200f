package botapi

import (
	"fmt"
	"strings"
)

// parseText does what parse_mode asks for. Legacy Markdown is not here.
func parseText(raw, mode string) (string, []Entity, error) {
	var text string
	var entities []Entity
	var err error
	switch strings.ToLower(mode) {
	case "html":
		text, entities, err = parseHTML(raw)
	case "markdownv2":
		text, entities, err = parseMarkdown(raw)
	default:
		return "", nil, bad("unsupported parse_mode")
	}
	if err != nil {
		return "", nil, bad("can't parse entities: %v", err)
	}
	return text, entities, nil
}

// A marked is a text in the making, with the entities that are open.
type marked struct {
	text     strings.Builder
	units    int
	open     []mark
	entities []Entity
}

// A mark is an entity that has begun.
type mark struct {
	entity Entity
	tag    string // how it was opened
	at     int    // byte offset in the source
}

func (m *marked) write(s string) {
	m.text.WriteString(s)
	m.units += length(s)
}

func (m *marked) begin(tag string, at int, e Entity) {
	e.Offset = m.units
	m.open = append(m.open, mark{entity: e, tag: tag, at: at})
}

// innermost returns the tag of the entity that was opened last, or "".
func (m *marked) innermost() string {
	if len(m.open) == 0 {
		return ""
	}
	return m.open[len(m.open)-1].tag
}

// end closes the entity that was opened last. url replaces that of the entity
// if it is not "". A link that leads nowhere stays text, without an error.
func (m *marked) end(url string) {
	last := m.open[len(m.open)-1]
	m.open = m.open[:len(m.open)-1]
	e := last.entity
	e.Length = m.units - e.Offset
	if url != "" {
		e.URL = url
	}
	if e.Type == "code" && m.innermost() == "pre" { // how HTML names the language of a block
		m.open[len(m.open)-1].entity.Language = e.Language
		return
	}
	if e.Type == "code" {
		e.Language = ""
	}
	if e.Length == 0 || e.Type == "" || e.Type == "text_link" && checkURL(e.URL) != nil {
		return
	}
	m.entities = append(m.entities, e)
}

// words are an error in the words of Telegram, which begin with a capital.
type words string

func (w words) Error() string { return string(w) }

func say(format string, args ...any) error { return words(fmt.Sprintf(format, args...)) }
